//! Holds our validator against test cases of the official JSON Schema test suite.
//!
//! ```text
//! cargo run --example schema_suite -- [--adopt DRAFT] FILE.json…
//! ```
//!
//! One line of JSON a case: the file, the group, the case, what is expected, what we say. `valid` is
//! null where the schema is refused, which `why` tells. With `--adopt` schemas are adopted first, as
//! ones that come from elsewhere are; `DRAFT` is the `$schema` of those that name none.

#![expect(
    clippy::expect_used,
    reason = "a tool for tests: whatever is wrong with its files ends it"
)]

use holdfast::tools::schema;
use serde_json::{Value, json};

fn main() {
    let mut args = std::env::args().skip(1).peekable();
    let draft = args.next_if_eq("--adopt").and_then(|_| args.next());
    for file in args {
        let text = std::fs::read_to_string(&file).expect("the file is there");
        let groups: Vec<Value> = serde_json::from_str(&text).expect("it is a list of groups");
        for group in &groups {
            let mut schema = group["schema"].clone();
            let mut notes = Vec::new();
            if let Some(draft) = &draft {
                if let Some(members) = schema.as_object_mut() {
                    members.entry("$schema").or_insert_with(|| json!(draft));
                }
                let adopted = schema::adopt(&schema, "schema");
                (schema, notes) = (adopted.schema, adopted.notes);
            }
            let refused = schema::check(&schema, "schema").err();
            for case in group["tests"].as_array().expect("a group has tests") {
                let fits = schema::validate(&schema, &case["data"], "value").is_empty();
                let line = json!({
                    "file": file,
                    "group": group["description"],
                    "case": case["description"],
                    "expected": case["valid"],
                    "valid": refused.is_none().then_some(fits),
                    "why": refused.as_ref().map(ToString::to_string),
                    "notes": notes,
                });
                println!("{line}");
            }
        }
    }
}
