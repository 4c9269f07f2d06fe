//! The types of GraphQL as JSON Schema.

use super::told::{Reference, Type};
use serde_json::{Map, Value, json};

/// Values of one enumeration that are described.
pub(super) const MAX_DESCRIBED: usize = 1_000;

/// A schema in the lists that a type is in, with null where that may be.
pub(super) fn wrapped(of: &Reference, inner: Value) -> Value {
    match (of.kind.as_str(), of.of_type.as_deref()) {
        ("NON_NULL", Some(of)) => bare(of, inner),
        _ => nullable(bare(of, inner)),
    }
}

fn bare(of: &Reference, inner: Value) -> Value {
    match (of.kind.as_str(), of.of_type.as_deref()) {
        ("LIST", Some(of)) => json!({ "type": "array", "items": wrapped(of, inner) }),
        ("NON_NULL", Some(of)) => bare(of, inner),
        _ => inner,
    }
}

pub(super) fn nullable(mut schema: Value) -> Value {
    let Some(members) = schema.as_object_mut() else { return schema };
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.push(Value::Null);
    }
    if members.contains_key("$ref") {
        return json!({ "anyOf": [schema, { "type": "null" }] });
    }
    match members.get_mut("type") {
        Some(Value::Array(kinds)) => kinds.push("null".into()),
        Some(kind) => *kind = json!([kind.take(), "null"]),
        None => {}
    }
    schema
}

pub(super) fn scalar(name: &str) -> Value {
    match name {
        "Int" => json!({ "type": "integer" }),
        "Float" => json!({ "type": "number" }),
        "String" | "ID" => json!({ "type": "string" }),
        "Boolean" => json!({ "type": "boolean" }),
        // Of a service's own scalars only the name is known.
        other => json!({ "description": other }),
    }
}

pub(super) fn enumeration(of: Option<&&Type>) -> Value {
    let values = of.and_then(|of| of.enum_values.as_deref()).unwrap_or_default();
    if values.is_empty() || values.len() > MAX_DESCRIBED {
        return json!({ "type": "string" });
    }
    let values: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
    json!({ "type": "string", "enum": values })
}

pub(super) fn object(members: Map<String, Value>, required: Vec<Value>) -> Value {
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), members.into());
    schema.insert("additionalProperties".into(), false.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema.into()
}
