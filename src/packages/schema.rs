//! JSON Schema: the part of draft 2020-12 that describes parameters and results.
//!
//! A keyword that is not checked here is refused when the schema is saved, never skipped: what a
//! package promises is what is held. Annotations are allowed and mean nothing. `$ref` stays within
//! the schema; `format` is an annotation; `pattern` is matched in linear time, so it has neither
//! look-around nor back-references.

use crate::ledger::request::canonical;
use regex_lite::Regex;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::fmt::Write as _;

/// The most of a schema, in bytes of JSON: a description, not a program.
pub const MAX_BYTES: usize = 65_536;

/// How deep schemas stand in each other, references followed.
const MAX_DEPTH: u32 = 64;

/// Schemas tried on values in one validation: a linear one needs one a value, and the parameters are
/// a megabyte at most.
const MAX_STEPS: u32 = 1_000_000;

/// Problems told at once.
const MAX_PROBLEMS: usize = 10;

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

/// Keywords without an effect.
const ANNOTATIONS: &[&str] = &[
    "$comment",
    "$id",
    "$schema",
    "contentEncoding",
    "contentMediaType",
    "default",
    "deprecated",
    "description",
    "example",
    "examples",
    "format",
    "readOnly",
    "title",
    "writeOnly",
];

const TYPES: &[&str] = &["null", "boolean", "integer", "number", "string", "array", "object"];

/// Checks that a value is a schema, and one that can be held. `path` is what it is called.
///
/// # Errors
///
/// The first place that is not.
pub fn check(schema: &Value, path: &str) -> Result<(), Problem> {
    Check { root: schema }.schema(schema, path, 0)
}

struct Check<'a> {
    root: &'a Value,
}

impl Check<'_> {
    fn schema(&self, schema: &Value, path: &str, depth: u32) -> Result<(), Problem> {
        let problem =
            |path: &str, what: &str| Err(Problem { path: path.to_owned(), what: what.to_owned() });
        if depth > MAX_DEPTH {
            return problem(path, "is nested too deep");
        }
        let members = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(members) => members,
            _ => return problem(path, "must be a schema: an object, true or false"),
        };
        let deeper = depth.saturating_add(1);
        for (keyword, value) in members {
            let at = format!("{path}.{keyword}");
            match keyword.as_str() {
                "type" => {
                    let known =
                        |word: &Value| word.as_str().is_some_and(|word| TYPES.contains(&word));
                    let fits = known(value)
                        || value
                            .as_array()
                            .is_some_and(|words| !words.is_empty() && words.iter().all(known));
                    if !fits {
                        return problem(&at, &format!("must be of {}", TYPES.join(", ")));
                    }
                }
                "properties" | "$defs" | "definitions" | "dependentSchemas" => {
                    let Some(members) = value.as_object() else {
                        return problem(&at, "must be an object of schemas");
                    };
                    for (name, member) in members {
                        self.schema(member, &format!("{at}.{name}"), deeper)?;
                    }
                }
                "dependentRequired" => {
                    if !value.as_object().is_some_and(|of| of.values().all(is_names)) {
                        return problem(&at, "must be an object of arrays of names");
                    }
                }
                "patternProperties" => {
                    let Some(members) = value.as_object() else {
                        return problem(&at, "must be an object of schemas");
                    };
                    for (pattern, member) in members {
                        regex(pattern).map_err(|what| Problem { path: at.clone(), what })?;
                        self.schema(member, &format!("{at}.{pattern}"), deeper)?;
                    }
                }
                "additionalProperties"
                | "propertyNames"
                | "items"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else" => self.schema(value, &at, deeper)?,
                "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                    let Some(schemas) = value.as_array().filter(|schemas| !schemas.is_empty())
                    else {
                        return problem(&at, "must be an array of schemas");
                    };
                    for (i, one) in schemas.iter().enumerate() {
                        self.schema(one, &format!("{at}[{i}]"), deeper)?;
                    }
                }
                "$ref" => {
                    if value.as_str().and_then(|to| resolve(self.root, to)).is_none() {
                        return problem(&at, "must lead to a schema in this one: #/$defs/name");
                    }
                }
                other if ANNOTATIONS.contains(&other) || other.starts_with("x-") => {}
                other => {
                    if let Some(what) = unfit(other, value) {
                        return problem(&at, &what);
                    }
                }
            }
        }
        Ok(())
    }
}

/// What is wrong with the value of a keyword that holds no schema.
fn unfit(keyword: &str, value: &Value) -> Option<String> {
    let (fits, what) = match keyword {
        "const" => return None,
        "enum" => (value.is_array(), "must be an array"),
        "required" => (is_names(value), "must be an array of names"),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            (value.is_number(), "must be a number")
        }
        "multipleOf" => (value.as_f64().is_some_and(|of| of > 0.0), "must be a number above 0"),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => {
            (value.as_u64().is_some(), "must be a whole number of at least 0")
        }
        "uniqueItems" => (value.is_boolean(), "must be true or false"),
        "pattern" => match value.as_str() {
            Some(pattern) => return regex(pattern).err(),
            None => (false, "must be a regular expression"),
        },
        _ => (false, "is not a keyword that is checked here"),
    };
    (!fits).then(|| what.to_owned())
}

fn is_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|_| {
        "is not a regular expression that is matched here; look-around and back-references are not"
            .to_owned()
    })
}

/// The schema that a reference leads to.
fn resolve<'a>(root: &'a Value, to: &str) -> Option<&'a Value> {
    let found = root.pointer(to.strip_prefix('#')?)?;
    (found.is_object() || found.is_boolean()).then_some(found)
}

/// Holds a value against a schema that [`check`] let pass; what does not fit, at most ten places.
/// `path` is what the value is called.
#[must_use]
pub fn validate(schema: &Value, value: &Value, path: &str) -> Vec<Problem> {
    let mut validation = Validation { root: schema, steps: 0, problems: Vec::new() };
    validation.value(schema, value, path, 0);
    validation.problems
}

/// Whether a number keeps to a limit.
type Holds = fn(f64, f64) -> bool;

struct Validation<'a> {
    root: &'a Value,
    steps: u32,
    problems: Vec<Problem>,
}

impl<'a> Validation<'a> {
    fn problem(&mut self, path: &str, what: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { path: path.to_owned(), what: what.into() });
        }
    }

    /// Whether a value fits, told to nobody.
    fn fits(&mut self, schema: &'a Value, value: &Value, path: &str, depth: u32) -> bool {
        let outer = std::mem::take(&mut self.problems);
        self.value(schema, value, path, depth);
        let fits = self.problems.is_empty();
        self.problems = outer;
        fits
    }

    fn value(&mut self, schema: &'a Value, value: &Value, path: &str, depth: u32) {
        self.steps = self.steps.saturating_add(1);
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            // A schema that refers to itself without end, or tries far too much.
            return self.problem(path, "could not be held against its schema: it goes too deep");
        }
        let members = match schema {
            Value::Bool(false) => return self.problem(path, "is not allowed"),
            Value::Object(members) => members,
            _ => return,
        };
        let deeper = depth.saturating_add(1);
        if let Some(kinds) = members.get("type")
            && !self.kind(kinds, value, path)
        {
            return;
        }
        if let Some(allowed) = members.get("enum").and_then(Value::as_array) {
            let own = canonical(value);
            if !allowed.iter().any(|one| canonical(one) == own) {
                let words: Vec<String> = allowed.iter().take(20).map(Value::to_string).collect();
                self.problem(path, format!("must be one of {}", words.join(", ")));
            }
        }
        if let Some(only) = members.get("const")
            && canonical(only) != canonical(value)
        {
            self.problem(path, format!("must be {only}"));
        }
        if let Some(to) = members.get("$ref").and_then(Value::as_str)
            && let Some(target) = resolve(self.root, to)
        {
            self.value(target, value, path, deeper);
        }
        self.combined(members, value, path, deeper);
        match value {
            Value::Number(number) => self.number(members, number.as_f64(), path),
            Value::String(text) => self.text(members, text, path),
            Value::Array(items) => self.items(members, items, path, deeper),
            Value::Object(own) => self.members(members, own, path, deeper),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn kind(&mut self, kinds: &Value, value: &Value, path: &str) -> bool {
        let is = |kind: &Value| match (kind.as_str(), value) {
            (Some("null"), Value::Null)
            | (Some("boolean"), Value::Bool(_))
            | (Some("number"), Value::Number(_))
            | (Some("string"), Value::String(_))
            | (Some("array"), Value::Array(_))
            | (Some("object"), Value::Object(_)) => true,
            (Some("integer"), Value::Number(number)) => {
                number.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            _ => false,
        };
        let kinds: Vec<&Value> =
            kinds.as_array().map_or_else(|| vec![kinds], |of| of.iter().collect());
        if kinds.iter().any(|kind| is(kind)) {
            return true;
        }
        let words: Vec<&str> = kinds.iter().filter_map(|kind| kind.as_str()).collect();
        let article = if words.first().is_some_and(|word| word.starts_with(['a', 'i', 'o'])) {
            "an"
        } else {
            "a"
        };
        self.problem(
            path,
            format!("must be {article} {}, not {}", words.join(" or "), kind_of(value)),
        );
        false
    }

    fn combined(&mut self, schema: &'a Map<String, Value>, value: &Value, path: &str, depth: u32) {
        let list = |name: &str| schema.get(name).and_then(Value::as_array);
        for one in list("allOf").into_iter().flatten() {
            self.value(one, value, path, depth);
        }
        if let Some(some) = list("anyOf")
            && !some.iter().any(|one| self.fits(one, value, path, depth))
        {
            self.problem(path, "fits none of anyOf");
        }
        if let Some(some) = list("oneOf") {
            let fitting = some.iter().filter(|one| self.fits(one, value, path, depth)).count();
            if fitting != 1 {
                self.problem(path, format!("must fit exactly one of oneOf; it fits {fitting}"));
            }
        }
        if let Some(not) = schema.get("not")
            && self.fits(not, value, path, depth)
        {
            self.problem(path, "must not fit the schema under not");
        }
        if let Some(condition) = schema.get("if") {
            let branch = if self.fits(condition, value, path, depth) { "then" } else { "else" };
            if let Some(branch) = schema.get(branch) {
                self.value(branch, value, path, depth);
            }
        }
    }

    fn number(&mut self, schema: &Map<String, Value>, number: Option<f64>, path: &str) {
        let Some(number) = number else { return };
        let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
        let rules: [(&str, Holds, &str); 4] = [
            ("minimum", |n, of| n >= of, "must be at least"),
            ("maximum", |n, of| n <= of, "must be at most"),
            ("exclusiveMinimum", |n, of| n > of, "must be above"),
            ("exclusiveMaximum", |n, of| n < of, "must be below"),
        ];
        for (name, holds, words) in rules {
            if let Some(of) = limit(name)
                && !holds(number, of)
            {
                self.problem(path, format!("{words} {of}, not {number}"));
            }
        }
        if let Some(of) = limit("multipleOf") {
            let times = number / of;
            // 0.3 is a multiple of 0.1, whatever the last bit says.
            if (times - times.round()).abs() > 1e-9 * times.abs().max(1.0) {
                self.problem(path, format!("must be a multiple of {of}, not {number}"));
            }
        }
    }

    fn text(&mut self, schema: &Map<String, Value>, text: &str, path: &str) {
        self.count(schema, "Length", text.chars().count(), "characters", path);
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && regex(pattern).is_ok_and(|regex| !regex.is_match(text))
        {
            self.problem(path, format!("must match {pattern}"));
        }
    }

    fn count(
        &mut self,
        schema: &Map<String, Value>,
        of: &str,
        count: usize,
        unit: &str,
        path: &str,
    ) {
        let limit = |bound: &str| schema.get(&format!("{bound}{of}")).and_then(Value::as_u64);
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        if let Some(least) = limit("min")
            && count < least
        {
            self.problem(path, format!("must have at least {least} {unit}, not {count}"));
        }
        if let Some(most) = limit("max")
            && count > most
        {
            self.problem(path, format!("must have at most {most} {unit}, not {count}"));
        }
    }

    fn items(&mut self, schema: &'a Map<String, Value>, items: &[Value], path: &str, depth: u32) {
        self.count(schema, "Items", items.len(), "items", path);
        let first = schema.get("prefixItems").and_then(Value::as_array);
        let first = first.map(Vec::as_slice).unwrap_or_default();
        for (i, item) in items.iter().enumerate() {
            if let Some(own) = first.get(i).or_else(|| schema.get("items")) {
                self.value(own, item, &format!("{path}[{i}]"), depth);
            }
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = HashSet::new();
            if let Some(i) = items.iter().position(|item| !seen.insert(canonical(item))) {
                self.problem(&format!("{path}[{i}]"), "is there twice");
            }
        }
        if let Some(wanted) = schema.get("contains") {
            let found = items.iter().filter(|item| self.fits(wanted, item, path, depth)).count();
            let found = u64::try_from(found).unwrap_or(u64::MAX);
            let limit = |name: &str| schema.get(name).and_then(Value::as_u64);
            let least = limit("minContains").unwrap_or(1);
            if found < least || limit("maxContains").is_some_and(|most| found > most) {
                self.problem(path, format!("has {found} items that fit contains"));
            }
        }
    }

    fn members(
        &mut self,
        schema: &'a Map<String, Value>,
        own: &Map<String, Value>,
        path: &str,
        depth: u32,
    ) {
        self.count(schema, "Properties", own.len(), "members", path);
        let names = |value: Option<&'a Value>| {
            value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        };
        for name in names(schema.get("required")) {
            if !own.contains_key(name) {
                self.problem(&member(path, name), "is required");
            }
        }
        let depending = schema.get("dependentRequired").and_then(Value::as_object);
        for (name, others) in depending.into_iter().flatten() {
            if own.contains_key(name) {
                for other in names(Some(others)) {
                    if !own.contains_key(other) {
                        self.problem(&member(path, other), format!("is required with {name}"));
                    }
                }
            }
        }
        let depending = schema.get("dependentSchemas").and_then(Value::as_object);
        for (name, other) in depending.into_iter().flatten() {
            if own.contains_key(name) {
                self.value(other, &Value::Object(own.clone()), path, depth);
            }
        }
        let patterns: Vec<(Regex, &'a Value)> = schema
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(pattern, schema)| Some((regex(pattern).ok()?, schema)))
            .collect();
        let known_ones = schema.get("properties").and_then(Value::as_object);
        for (name, value) in own {
            let at = member(path, name);
            let mut known = false;
            if let Some(schema) = known_ones.and_then(|members| members.get(name)) {
                known = true;
                self.value(schema, value, &at, depth);
            }
            for (pattern, schema) in &patterns {
                if pattern.is_match(name) {
                    known = true;
                    self.value(schema, value, &at, depth);
                }
            }
            match schema.get("additionalProperties") {
                Some(Value::Bool(false)) if !known => self.problem(&at, "is not a known member"),
                Some(others) if !known => self.value(others, value, &at, depth),
                _ => {}
            }
            if let Some(names) = schema.get("propertyNames")
                && !self.fits(names, &Value::from(name.as_str()), &at, depth)
            {
                self.problem(&at, "has a name that does not fit");
            }
        }
    }
}

/// The path of a member: `a.b`, or `a["b c"]`.
fn member(path: &str, name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let mut out = path.to_owned();
    let _ = if plain {
        write!(out, ".{name}")
    } else {
        write!(out, "[{}]", Value::from(name.chars().take(64).collect::<String>()))
    };
    out
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    //! What fits, what does not and where; what is no schema.

    use super::*;
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
            (&person, json!({"name": "a", "x y": 1}), "params[\"x y\"] is not a known member"),
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
            (json!({"pattern": "(?=a)"}), "s.pattern is not a regular expression"),
            (json!({"unevaluatedProperties": false}), "s.unevaluatedProperties is not a keyword"),
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
}
