//! A list of tools as MCP has it, taken in as it is. Other Workers tell theirs in the same form.

use crate::tools::import::{Hints, Imported, LeftOut, Listed, Plan};
use crate::tools::schema;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeSet;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Option<Value>,
    #[serde(default)]
    output_schema: Option<Value>,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Annotations {
    title: Option<String>,
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
}

/// Takes a tool of the list in, or says why not. `usual` is the schema of a result that is not described.
pub(in crate::tools::source) fn take(
    raw: &RawValue,
    imported: &mut Imported,
    known: &mut BTreeSet<String>,
    usual: Option<&str>,
    plan: fn(String) -> Plan,
) {
    let tool: Tool = match serde_json::from_str(raw.get()) {
        Ok(tool) => tool,
        Err(error) => {
            let name = serde_json::from_str::<Value>(raw.get()).ok();
            let name = name.as_ref().and_then(|tool| tool.get("name")).and_then(Value::as_str);
            let what = name.unwrap_or("a tool without a name").to_owned();
            imported.left_out.push(LeftOut { what, why: error.to_string(), whole: true });
            return;
        }
    };
    if !known.insert(tool.name.clone()) {
        let why = "the server lists it twice".to_owned();
        imported.left_out.push(LeftOut { what: tool.name, why, whole: true });
        return;
    }
    let mut schema = |given: Option<Value>, usual: Option<&str>, of: &str| {
        let Some(given) = given.filter(Value::is_object) else {
            return RawValue::from_string(usual?.to_owned()).ok();
        };
        let adopted = schema::adopt(&given, of);
        let what = format!("{}, {of}", tool.name);
        imported.left_out.extend(adopted.notes.into_iter().map(|why| LeftOut {
            what: what.clone(),
            why,
            whole: false,
        }));
        RawValue::from_string(adopted.schema.to_string()).ok()
    };
    let object = Some(r#"{"type":"object"}"#);
    let Some(parameters) = schema(tool.input_schema, object, "arguments") else { return };
    let result = schema(tool.output_schema, usual, "result");
    let annotations = tool.annotations;
    let title = tool.title.or(annotations.title).filter(|title| *title != tool.name);
    let description = match (title, tool.description) {
        (Some(title), Some(text)) if !text.contains(&title) => format!("{title}. {text}"),
        (_, Some(text)) => text,
        (title, None) => title.unwrap_or_default(),
    };
    imported.tools.push(Listed {
        key: tool.name.clone(),
        group: None,
        name: tool.name.clone(),
        description,
        parameters,
        result,
        hints: Hints {
            reads: annotations.read_only_hint,
            destructive: annotations.destructive_hint,
            idempotent: annotations.idempotent_hint,
        },
        plan: plan(tool.name),
    });
}

#[cfg(test)]
mod tests {
    //! What a server lists is taken in as it is, or its name is told.

    use super::*;
    use serde_json::json;

    fn taken(tools: &Value) -> Imported {
        let mut imported = Imported::default();
        let mut known = BTreeSet::new();
        let tools: Vec<Box<RawValue>> = serde_json::from_str(&tools.to_string()).unwrap();
        for tool in tools {
            take(&tool, &mut imported, &mut known, None, |tool| Plan::Mcp { tool });
        }
        imported
    }

    #[test]
    fn tools_are_taken_in_with_what_they_say_of_themselves() {
        let imported = taken(&json!([
            {
                "name": "get-sum", "title": "Sum", "description": "Adds.",
                "inputSchema": { "type": "object", "properties": { "a": { "type": "number" } } },
                "annotations": { "readOnlyHint": true },
            },
            { "name": "wipe", "annotations": { "title": "Wipe all", "destructiveHint": true } },
            { "name": "wipe" },
            { "description": "no name" },
        ]));
        let [sum, wipe] = imported.tools.as_slice() else { panic!("{imported:?}") };
        assert_eq!(sum.description, "Sum. Adds.");
        assert_eq!(sum.hints.reads, Some(true));
        assert_eq!(
            sum.parameters.get(),
            r#"{"properties":{"a":{"type":"number"}},"type":"object"}"#
        );
        assert_eq!(wipe.description, "Wipe all");
        assert_eq!(wipe.hints.destructive, Some(true));
        assert_eq!(wipe.parameters.get(), r#"{"type":"object"}"#);
        let left: Vec<&str> = imported.left_out.iter().map(|left| left.what.as_str()).collect();
        assert_eq!(left, ["wipe", "a tool without a name"]);
    }
}
