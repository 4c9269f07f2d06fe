//! The schemas of arguments: inputs by their definitions, as far as there is room.

use super::shapes::{MAX_DESCRIBED, enumeration, object, scalar, wrapped};
use super::told::{Input, Type};
use super::{cut, is_name};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};

/// Bytes of a tool's schema, roughly.
const MAX_SCHEMA_BYTES: usize = 48_000;

/// The schemas of arguments.
pub(super) struct Inputs<'r, 'a> {
    pub(super) by_name: &'r BTreeMap<&'a str, &'a Type>,
    pub(super) refers_to: Vec<String>,
}

impl Inputs<'_, '_> {
    pub(super) fn member(&mut self, input: &Input) -> Value {
        let inner = input.of.inner();
        let name = inner.name.as_deref().unwrap_or_default();
        let own = self.by_name.get(name);
        let schema = match inner.kind.as_str() {
            "ENUM" => enumeration(own),
            "INPUT_OBJECT" if is_name(name) && own.is_some() => {
                if !self.refers_to.iter().any(|other| other == name) {
                    self.refers_to.push(name.to_owned());
                }
                json!({ "$ref": format!("#/$defs/{name}") })
            }
            "INPUT_OBJECT" => json!({}),
            // Numbers are taken for identifiers, as servers do.
            _ if name == "ID" => json!({ "type": ["string", "integer"] }),
            _ => scalar(name),
        };
        let mut schema = wrapped(&input.of, schema);
        if let Some(members) = schema.as_object_mut() {
            let said = input.description.as_deref().map(|text| cut(text, 600)).unwrap_or_default();
            let default = input.default_value.as_deref().filter(|text| *text != "null");
            let default = default.map(|text| format!("Default: {}", cut(text, 100)));
            let said = [said, default.unwrap_or_default()];
            let said: Vec<&str> =
                said.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
            if !said.is_empty() {
                members.insert("description".into(), said.join(" ").into());
            }
        }
        schema
    }

    /// The schema of all arguments with the types that they need; whether all of it found room.
    pub(super) fn whole(
        mut self,
        members: Map<String, Value>,
        required: Vec<Value>,
    ) -> (String, bool) {
        let mut defs = Map::new();
        let mut bytes = Value::Object(members.clone()).to_string().len();
        let mut is_whole = true;
        let mut waiting: VecDeque<String> = std::mem::take(&mut self.refers_to).into();
        while let Some(name) = waiting.pop_front() {
            if defs.contains_key(&name) {
                continue;
            }
            let fields = self.by_name.get(name.as_str()).and_then(|of| of.input_fields.as_deref());
            let fields = fields.unwrap_or_default();
            if fields.len() > MAX_DESCRIBED {
                is_whole = false;
                defs.insert(name, Value::Bool(true));
                continue;
            }
            let mut own = Map::new();
            let mut needed: Vec<Value> = Vec::new();
            for input in fields {
                own.insert(input.name.clone(), self.member(input));
                if input.is_required() {
                    needed.push(input.name.as_str().into());
                }
            }
            let schema = object(own, needed);
            let size = schema.to_string().len();
            if bytes.saturating_add(size) > MAX_SCHEMA_BYTES {
                is_whole = false;
                self.refers_to.clear();
                defs.insert(name, Value::Bool(true));
                continue;
            }
            bytes = bytes.saturating_add(size);
            waiting.extend(std::mem::take(&mut self.refers_to));
            defs.insert(name, schema);
        }
        let mut whole = object(members, required);
        if let (Some(whole), false) = (whole.as_object_mut(), defs.is_empty()) {
            whole.insert("$defs".into(), defs.into());
        }
        (whole.to_string(), is_whole)
    }
}
