//! Headers that mirror arguments: of a server that marks them in its schemas.

use super::wire;
use serde_json::Value;

/// The arguments that the server wants to see in headers, too: those that its schema marks.
pub(super) fn mirrored(parameters: &str, arguments: &str) -> Vec<(String, String)> {
    if !parameters.contains("x-mcp-header") {
        return Vec::new();
    }
    let (Ok(schema), Ok(arguments)) =
        (serde_json::from_str::<Value>(parameters), serde_json::from_str::<Value>(arguments))
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    mirror(&schema, &arguments, 0, &mut found);
    found
}

fn mirror(schema: &Value, arguments: &Value, depth: u32, found: &mut Vec<(String, String)>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        let Some(argument) = arguments.get(name) else { continue };
        if let Some(header) = property.get("x-mcp-header").and_then(Value::as_str) {
            let text = match argument {
                Value::String(text) => text.clone(),
                Value::Bool(flag) => flag.to_string(),
                Value::Number(number) if !number.is_f64() => number.to_string(),
                _ => continue,
            };
            found.push((format!("mcp-param-{}", header.to_ascii_lowercase()), wire::header(&text)));
        } else if depth < 8 {
            mirror(property, argument, depth.saturating_add(1), found);
        }
    }
}

#[cfg(test)]
mod tests {
    //! What is marked is mirrored, and nothing else.

    use super::*;
    use serde_json::json;

    #[test]
    fn marked_arguments_are_mirrored() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": { "n": { "x-mcp-header": "N" } } },
            "plain": { "type": "string" },
        } });
        let found = |arguments: &Value| mirrored(&schema.to_string(), &arguments.to_string());
        assert_eq!(
            found(&json!({ "region": "eu", "deep": { "n": 3 }, "plain": "x" })),
            [("mcp-param-n".into(), "3".into()), ("mcp-param-region".into(), "eu".into())]
        );
        assert_eq!(found(&json!({ "region": null })), []);
        assert_eq!(mirrored(r#"{"type":"object"}"#, "{}"), []);
    }
}
