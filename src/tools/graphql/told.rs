//! A schema, as introspection tells it.

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub(super) struct Told {
    pub(super) data: Option<Data>,
    #[serde(rename = "__schema")]
    pub(super) schema: Option<Schema>,
    #[serde(default)]
    pub(super) errors: Vec<Value>,
}

#[derive(Deserialize)]
pub(super) struct Data {
    #[serde(rename = "__schema")]
    pub(super) schema: Option<Schema>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Schema {
    pub(super) query_type: Option<Named>,
    pub(super) mutation_type: Option<Named>,
    pub(super) types: Vec<Type>,
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Type {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) fields: Option<Vec<Field>>,
    pub(super) input_fields: Option<Vec<Input>>,
    pub(super) enum_values: Option<Vec<Named>>,
    pub(super) possible_types: Option<Vec<Named>>,
}

#[derive(Deserialize)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) args: Vec<Input>,
    #[serde(rename = "type")]
    pub(super) of: Reference,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) description: Option<String>,
    #[serde(rename = "type")]
    pub(super) of: Reference,
    pub(super) default_value: Option<String>,
}

impl Input {
    pub(super) fn is_required(&self) -> bool {
        self.of.kind == "NON_NULL" && self.default_value.is_none()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) of_type: Option<Box<Reference>>,
}

impl Reference {
    /// The type itself, without lists and exclamation marks.
    pub(super) fn inner(&self) -> &Self {
        self.of_type.as_deref().map_or(self, Self::inner)
    }

    /// As GraphQL writes it.
    pub(super) fn text(&self) -> String {
        let inner = || self.of_type.as_deref().map(Self::text).unwrap_or_default();
        match self.kind.as_str() {
            "NON_NULL" => format!("{}!", inner()),
            "LIST" => format!("[{}]", inner()),
            _ => self.name.clone().unwrap_or_default(),
        }
    }
}
