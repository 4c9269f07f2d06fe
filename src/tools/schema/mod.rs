//! JSON Schema, draft 2020-12, for everything that takes arguments and gives results: tools and
//! packages. Pure.
//!
//! - [`check`] says whether a schema of our users is one that can be held. A keyword that it does not
//!   know is refused, never skipped: what a package promises is what is held.
//! - [`adopt`] makes such a schema of any that comes from elsewhere, of older drafts and of `OpenAPI`
//!   3.0 too, and says what it had to leave out.
//! - [`validate`] holds a value against it, and says where it does not fit and what would.
//!
//! The whole of 2020-12 is held, but for what leaves the schema: a reference to another document is
//! refused, nothing is ever loaded. `format` and the `content…` keywords are annotations, which is
//! the draft's default. Patterns are JavaScript's, without what needs backtracking (`pattern`).
//! Whatever the schema, a validation ends: depth, steps and characters matched are bounded, and a
//! value that was not held to its end does not fit.

mod adopt;
mod check;
mod index;
mod pattern;
mod validate;

pub use adopt::{Adopted, Part, adopt, adopt_part};
pub use check::check;
pub use validate::validate;

/// The most of a schema, in bytes of JSON: a description, not a program.
pub const MAX_BYTES: usize = 65_536;

/// How deep schemas stand in each other. JSON is read to 128 levels.
const MAX_NESTING: usize = 128;

/// What does not fit, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Path in the value, or in the schema: `params.items[0].id`.
    pub path: String,
    /// What reads after it: `must be a string`.
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.path, self.what)
    }
}

/// The path of a member: `a.b`, or `a["b c"]`.
fn member(path: &str, name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain {
        format!("{path}.{name}")
    } else {
        let name = serde_json::Value::from(name.chars().take(64).collect::<String>());
        format!("{path}[{name}]")
    }
}

#[cfg(test)]
mod tests {
    //! What fits, what does not and where; what is no schema.

    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_value_fits_or_the_place_is_named() {
        let person = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[a-z]+$" },
                "age": { "type": "integer", "minimum": 0, "exclusiveMaximum": 150 },
                "tags": { "type": "array", "items": { "enum": ["a", 1] }, "uniqueItems": true },
            },
            "required": ["name"],
            "additionalProperties": false,
        });
        let tree = json!({
            "$ref": "#/$defs/node",
            "$defs": { "node": { "properties": { "child": { "$ref": "#/$defs/node" } },
                                 "required": ["v"] } },
        });
        let cases = [
            (&person, json!({"name": "ada", "age": 3.0, "tags": ["a", 1]}), ""),
            (&person, json!([]), "params must be an object, not an array"),
            (&person, json!({}), "params.name is required"),
            (&person, json!({"name": ""}), "params.name must have at least 1 characters, not 0"),
            (&person, json!({"name": "ABC"}), "params.name must match ^[a-z]+$"),
            (
                &person,
                json!({"name": "a", "age": 1.5}),
                "params.age must be an integer, not a number",
            ),
            (&person, json!({"name": "a", "age": 150}), "params.age must be below 150, not 150"),
            (&person, json!({"name": "a", "tags": [2]}), "params.tags[0] must be one of \"a\", 1"),
            (&person, json!({"name": "a", "tags": [1, 1.0]}), "params.tags[1] is there twice"),
            (
                &person,
                json!({"name": "a", "x y": 1}),
                "params[\"x y\"] is not a known member; those left are age, tags",
            ),
            (&tree, json!({"v": 1, "child": {"v": 2, "child": {"v": 3}}}), ""),
            (&tree, json!({"v": 1, "child": {"child": {"v": 3}}}), "params.child.v is required"),
        ];
        for (schema, value, expected) in cases {
            assert_eq!(check(schema, "schema"), Ok(()));
            let first = validate(schema, &value, "params").first().map(ToString::to_string);
            assert_eq!(first.unwrap_or_default(), expected, "{value}");
        }
    }

    #[test]
    fn schemas_are_combined() {
        let schema = json!({
            "allOf": [{ "type": "number" }],
            "anyOf": [{ "minimum": 10 }, { "maximum": 5 }],
            "oneOf": [{ "multipleOf": 2 }, { "multipleOf": 3 }],
            "not": { "const": 4 },
            "if": { "minimum": 10 }, "then": { "maximum": 20 }, "else": { "minimum": 1 },
        });
        let fitting = |n: f64| validate(&schema, &json!(n), "n").is_empty();
        let found: Vec<i32> = (-3..25).filter(|n| fitting(f64::from(*n))).collect();
        assert_eq!(found, [2, 3, 10, 14, 15, 16, 20]);
        assert!(validate(&json!({"multipleOf": 0.1}), &json!(0.3), "n").is_empty());
    }

    #[test]
    fn arrays_and_objects_have_their_keywords() {
        let cases = [
            (
                json!({"prefixItems": [{"type": "string"}], "items": false}),
                json!(["a"]),
                json!(["a", 1]),
            ),
            (json!({"contains": {"const": 1}, "maxContains": 1}), json!([1, 2]), json!([1, 1])),
            (json!({"contains": {"const": 1}}), json!([1]), json!([])),
            (json!({"minItems": 1, "maxItems": 1}), json!([1]), json!([1, 2])),
            (
                json!({"patternProperties": {"^x": {"type": "null"}}, "additionalProperties": false}),
                json!({"xa": null}),
                json!({"a": null}),
            ),
            (json!({"propertyNames": {"maxLength": 1}}), json!({"a": 1}), json!({"ab": 1})),
            (json!({"dependentRequired": {"a": ["b"]}}), json!({"b": 1}), json!({"a": 1})),
            (
                json!({"dependentSchemas": {"a": {"minProperties": 2}}}),
                json!({"b": 1}),
                json!({"a": 1}),
            ),
            (json!({"type": ["string", "null"]}), json!(null), json!(1)),
            (json!({"const": {"a": [1.0]}}), json!({"a": [1]}), json!({"a": [2]})),
            (json!({"maxLength": 1}), json!("é"), json!("éé")),
            (json!(true), json!(1), json!(1)),
        ];
        for (schema, good, bad) in cases {
            assert_eq!(check(&schema, "s"), Ok(()), "{schema}");
            assert_eq!(validate(&schema, &good, "v"), [], "{schema} {good}");
            assert!(schema == json!(true) || !validate(&schema, &bad, "v").is_empty(), "{schema}");
        }
    }

    #[test]
    fn what_is_no_schema_is_refused_at_its_place() {
        for (schema, place) in [
            (json!(1), "s must be a schema"),
            (json!({"type": "text"}), "s.type must be of"),
            (
                json!({"properties": {"a": {"minimum": "1"}}}),
                "s.properties.a.minimum must be a number",
            ),
            (json!({"items": [{}]}), "s.items must be a schema"),
            (json!({"$ref": "#/$defs/no"}), "s.$ref must lead to a schema"),
            (json!({"$ref": "https://example.com/x"}), "s.$ref must lead to a schema"),
            (json!({"pattern": "(?=a)"}), "s.pattern looks ahead"),
            (json!({"unevaluated": false}), "s.unevaluated is not a keyword"),
            (
                json!({"$schema": "https://example.com/own"}),
                "s.$schema must be https://json-schema.org",
            ),
            (json!({"$ref": "#/x-own", "x-own": {"type": "text"}}), "s.$ref.type must be of"),
            (json!({"anyOf": []}), "s.anyOf must be an array of schemas"),
            (json!({"required": "a"}), "s.required must be an array of names"),
        ] {
            let problem = check(&schema, "s").unwrap_err().to_string();
            assert!(problem.starts_with(place), "{problem}");
        }
    }

    #[test]
    fn a_schema_that_never_ends_ends() {
        let schema = json!({"$ref": "#"});
        assert!(!validate(&schema, &json!(1), "v").is_empty());
        let many = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}], "not": {}});
        assert!(!validate(&many, &json!(1), "v").is_empty());
    }

    #[test]
    fn a_problem_says_what_would_do() {
        let search = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string" },
                "sort": { "enum": ["created", "updated"] },
                "page": { "type": "integer", "minimum": 1 },
            },
            "additionalProperties": false,
        });
        let shape = json!({ "oneOf": [
            { "properties": { "kind": { "const": "circle" }, "radius": { "type": "number" } },
              "required": ["kind", "radius"] },
            { "properties": { "kind": { "const": "square" }, "side": { "type": "number" } },
              "required": ["kind", "side"] },
        ] });
        let either = json!({ "anyOf": [{ "type": "string" }, { "type": ["null", "array"] }] });
        let titled = json!({ "oneOf": [{ "title": "Small", "maximum": 9 }, { "minimum": 3 }] });
        let cases = [
            (&search, json!({"qury": "x"}), "a.qury is not a known member; did you mean query?"),
            (
                &search,
                json!({"zzzzzzzz": 1}),
                "a.zzzzzzzz is not a known member; those left are page, query, sort",
            ),
            (
                &search,
                json!({"sort": "create"}),
                "a.sort must be one of \"created\", \"updated\"; did you mean \"created\"?",
            ),
            (&search, json!({"page": 0}), "a.page must be at least 1, not 0"),
            (
                &shape,
                json!({"kind": "square"}),
                "a.side is required (the nearest of 2 alternatives)",
            ),
            (&either, json!(1), "a must be a string or null or array, not a number"),
            (
                &titled,
                json!(5),
                "a must fit exactly one of 2 alternatives; it fits 2: Small, number 2",
            ),
            (
                &json!({"not": {"required": ["a", "b"]}}),
                json!({"a": 1, "b": 2}),
                "a must not have [\"a\",\"b\"] together",
            ),
        ];
        for (schema, value, expected) in cases {
            assert_eq!(check(schema, "s"), Ok(()));
            let first = validate(schema, &value, "a").first().map(ToString::to_string);
            assert_eq!(first.unwrap_or_default(), expected);
        }
    }

    #[test]
    fn a_schema_that_costs_too_much_is_not_held_to_its_end() {
        // Each level tries the next one twice.
        let twice = json!({
            "$defs": (0..30).map(|i| {
                let next = json!({ "$ref": format!("#/$defs/n{}", i + 1) });
                (format!("n{i}"), json!({ "allOf": [next.clone(), next] }))
            }).chain([("n30".to_owned(), json!(true))]).collect::<serde_json::Map<_, _>>(),
            "$ref": "#/$defs/n0",
        });
        let slow = json!({ "items": { "pattern": "^([b-z]{1,100}){1,20}$" } });
        let texts: Vec<String> = (0..40).map(|_| "a".repeat(2_000)).collect();
        for (schema, value) in [(twice, json!(1)), (slow, json!(texts))] {
            let problems = validate(&schema, &value, "v");
            assert!(problems.last().unwrap().what.contains("takes too long"), "{problems:?}");
        }
        // What could not be held to its end does not fit by being denied either.
        let denied = json!({ "not": { "$ref": "#/not" } });
        assert!(!validate(&denied, &json!(1), "v").is_empty());
    }

    #[test]
    fn a_long_list_of_values_is_no_burden() {
        let names: Vec<String> = (0..5_000).map(|i| format!("name{i}")).collect();
        let schema = json!({ "items": { "enum": names } });
        assert_eq!(validate(&schema, &json!(names), "v"), []);
        let told = validate(&schema, &json!(["name"]), "v").remove(0).what;
        assert!(told.contains("and 4980 more"), "{told}");
        assert!(told.len() < 1_000, "{told}");
    }

    #[test]
    fn older_schemas_are_adopted() {
        let cases = [
            (json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]})),
            (
                json!({"$ref": "#/$defs/a", "nullable": true, "$defs": {"a": {"type": "null"}}}),
                json!({"$defs": {"a": {"type": "null"}}, "anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}),
            ),
            (json!({"enum": ["a"], "nullable": true}), json!({"enum": ["a", null]})),
            (
                json!({"minimum": 1, "exclusiveMinimum": true, "maximum": 2, "exclusiveMaximum": false}),
                json!({"exclusiveMinimum": 1, "maximum": 2}),
            ),
            (
                json!({"items": [{"type": "any"}, true], "additionalItems": false}),
                json!({"prefixItems": [{}, true], "items": false}),
            ),
            (
                json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}, "e": "f"}}),
                json!({"dependentRequired": {"a": ["b"], "e": ["f"]}, "dependentSchemas": {"c": {"required": ["d"]}}}),
            ),
            (json!({"properties": {"a": {"required": true}}}), json!({"properties": {"a": {}}})),
            (json!({"type": "file"}), json!({"type": ["string"]})),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a",
                       "minimum": 3, "definitions": {"a": {"type": "integer"}}}),
                json!({"$ref": "#/definitions/a", "definitions": {"a": {"type": "integer"}}}),
            ),
        ];
        for (schema, expected) in cases {
            let adopted = adopt(&schema, "s");
            assert_eq!(adopted.schema, expected, "{schema}");
            assert_eq!(adopted.notes, Vec::<String>::new(), "{schema}");
            assert_eq!(check(&adopted.schema, "s"), Ok(()));
        }
    }

    #[test]
    fn what_cannot_be_adopted_is_told() {
        let cases = [
            (json!({"pattern": "(?=a)"}), json!({}), "s.pattern looks ahead"),
            (
                json!({"$ref": "https://example.com/x", "type": "object"}),
                json!({"type": "object"}),
                "s refers to \"https://example.com/x\", which is not in it",
            ),
            (json!({"type": "thing"}), json!({}), "s.type is no type"),
            (json!({"minLength": "1"}), json!({}), "s.minLength must be a whole number"),
            (
                json!({"patternProperties": {"(?!a)": {}, "b": {}}, "additionalProperties": false}),
                json!({"patternProperties": {"b": {}}}),
                "s.patternProperties[\"(?!a)\"] looks ahead",
            ),
            (json!([1]), json!(true), "s is no schema"),
        ];
        for (schema, expected, note) in cases {
            let adopted = adopt(&schema, "s");
            assert_eq!(adopted.schema, expected, "{schema}");
            assert!(adopted.notes.iter().any(|told| told.starts_with(note)), "{:?}", adopted.notes);
        }
    }

    fn any_value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(|b| json!(b)),
            any::<i8>().prop_map(|n| json!(n)),
            any::<f64>().prop_map(|n| json!(n)),
            prop_oneof![
                Just("string"),
                Just("object"),
                Just("#"),
                Just("#/$defs/a"),
                Just("#a"),
                Just("^a"),
                Just("x:y"),
                Just("(?=a)"),
                Just("a")
            ]
            .prop_map(|text| json!(text)),
            "\\PC{0,4}".prop_map(|text| json!(text)),
        ];
        let keyword = prop_oneof![
            prop::sample::select(vec![
                "type",
                "properties",
                "items",
                "$ref",
                "$dynamicRef",
                "$id",
                "$anchor",
                "$dynamicAnchor",
                "$defs",
                "anyOf",
                "oneOf",
                "allOf",
                "not",
                "if",
                "then",
                "else",
                "enum",
                "const",
                "required",
                "pattern",
                "patternProperties",
                "additionalProperties",
                "unevaluatedProperties",
                "unevaluatedItems",
                "prefixItems",
                "contains",
                "minContains",
                "dependencies",
                "nullable",
                "multipleOf",
                "minimum",
                "exclusiveMinimum",
                "uniqueItems",
                "additionalItems",
                "propertyNames",
                "a",
                "b",
            ])
            .prop_map(str::to_owned),
            "\\PC{0,3}",
        ];
        leaf.prop_recursive(5, 48, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(|items| json!(items)),
                prop::collection::vec((keyword.clone(), inner), 0..6).prop_map(|members| members
                    .into_iter()
                    .collect::<serde_json::Map<_, _>>()
                    .into()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_is_adopted_can_be_held(schema in any_value(), value in any_value()) {
            let adopted = adopt(&schema, "s");
            prop_assert_eq!(check(&adopted.schema, "s"), Ok(()), "{}", adopted.schema);
            prop_assert!(adopted.notes.len() <= 20);
            let _ = validate(&adopted.schema, &value, "v");
            let again = adopt(&adopted.schema, "s");
            prop_assert_eq!(again.schema, adopted.schema);
        }

        #[test]
        fn a_schema_that_is_let_pass_stays_as_it_is(schema in any_value(), value in any_value()) {
            if check(&schema, "s").is_ok() {
                let adopted = adopt(&schema, "s");
                let (own, other) =
                    (validate(&schema, &value, "v"), validate(&adopted.schema, &value, "v"));
                prop_assert_eq!(own.is_empty(), other.is_empty(), "{} {}", schema, adopted.schema);
            }
            let _ = validate(&schema, &value, "v");
        }

        #[test]
        fn a_value_is_the_only_one_of_its_list(value in any_value(), other in any_value()) {
            let schema = json!({ "enum": [value] });
            prop_assert_eq!(validate(&schema, &value, "v"), []);
            let equal = validate(&json!({ "const": other }), &value, "v").is_empty();
            prop_assert_eq!(validate(&json!({ "enum": [other] }), &value, "v").is_empty(), equal);
        }
    }
}
