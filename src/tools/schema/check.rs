//! Whether a value is a schema, and one that can be held.

use super::index::{Holds, Index, holds};
use super::pattern::Pattern;
use super::{MAX_NESTING, Problem};
use serde_json::Value;
use std::collections::HashSet;

/// Keywords without an effect.
const ANNOTATIONS: &[&str] = &[
    "$comment",
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

const META_SCHEMAS: &[&str] = &["https://json-schema.org/", "http://json-schema.org/"];

const TYPES: &[&str] = &["null", "boolean", "integer", "number", "string", "array", "object"];

/// Checks that a value is a schema, and one that can be held. `path` is what it is called.
///
/// # Errors
///
/// The first place that is not.
pub fn check(schema: &Value, path: &str) -> Result<(), Problem> {
    let index = Index::of(schema);
    let mut check = Check { index: &index, seen: HashSet::new(), targets: Vec::new() };
    check.schema(schema, 0, path, 0)?;
    // What a reference leads to is a schema, wherever it stands.
    while let Some((target, resource, at)) = check.targets.pop() {
        check.schema(target, resource, &at, 0)?;
    }
    Ok(())
}

struct Check<'a> {
    index: &'a Index<'a>,
    seen: HashSet<*const Value>,
    /// What references lead to: the schema, its resource, the reference's own place.
    targets: Vec<(&'a Value, usize, String)>,
}

fn problem(path: &str, what: impl Into<String>) -> Result<(), Problem> {
    Err(Problem { path: path.to_owned(), what: what.into() })
}

impl<'a> Check<'a> {
    fn schema(
        &mut self,
        schema: &'a Value,
        outer: usize,
        path: &str,
        depth: usize,
    ) -> Result<(), Problem> {
        if depth > MAX_NESTING {
            return problem(path, "is nested too deep");
        }
        let members = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(members) => members,
            _ => return problem(path, "must be a schema: an object, true or false"),
        };
        if !self.seen.insert(std::ptr::from_ref(schema)) {
            return Ok(());
        }
        let resource = self.index.resource_of(schema, outer);
        let deeper = depth.saturating_add(1);
        for (keyword, value) in members {
            let at = format!("{path}.{keyword}");
            match holds(keyword) {
                Holds::One => self.schema(value, resource, &at, deeper)?,
                Holds::List => {
                    let Some(schemas) = value.as_array().filter(|schemas| !schemas.is_empty())
                    else {
                        return problem(&at, "must be an array of schemas");
                    };
                    for (i, one) in schemas.iter().enumerate() {
                        self.schema(one, resource, &format!("{at}[{i}]"), deeper)?;
                    }
                }
                Holds::Named => {
                    let Some(named) = value.as_object() else {
                        return problem(&at, "must be an object of schemas");
                    };
                    for (name, one) in named {
                        if keyword == "patternProperties"
                            && let Err(what) = Pattern::read(name)
                        {
                            return problem(&at, what);
                        }
                        self.schema(one, resource, &format!("{at}.{name}"), deeper)?;
                    }
                }
                Holds::Other => {
                    let reference = matches!(keyword.as_str(), "$ref" | "$dynamicRef");
                    if reference && let Some(to) = value.as_str() {
                        let Some(target) = self.index.resolve(resource, to) else {
                            return problem(
                                &at,
                                "must lead to a schema in this one: #/$defs/name; others are not \
                                 loaded",
                            );
                        };
                        self.targets.push((target.schema, target.resource, at));
                    } else if let Some(what) = unfit(keyword, value) {
                        return problem(&at, what);
                    }
                }
            }
        }
        Ok(())
    }
}

/// What is wrong with a keyword that no rule speaks of.
pub(super) const NOT_A_KEYWORD: &str = "is not a keyword that is checked here";

/// What is wrong with a keyword that holds no schema.
pub(super) fn unfit(keyword: &str, value: &Value) -> Option<String> {
    let (fits, what) = match keyword {
        "const" => return None,
        "type" => return unfit_type(value),
        "enum" => (value.is_array(), "must be an array"),
        "required" => (is_names(value), "must be an array of names"),
        "dependentRequired" => (
            value.as_object().is_some_and(|of| of.values().all(is_names)),
            "must be an object of arrays of names",
        ),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            (value.is_number(), "must be a number")
        }
        "multipleOf" => (value.as_f64().is_some_and(|of| of > 0.0), "must be a number above 0"),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => {
            (whole(value).is_some(), "must be a whole number of at least 0")
        }
        "uniqueItems" => (value.is_boolean(), "must be true or false"),
        "pattern" => match value.as_str() {
            Some(pattern) => return Pattern::read(pattern).err(),
            None => (false, "must be a regular expression"),
        },
        "$ref" | "$dynamicRef" | "$id" | "$anchor" | "$dynamicAnchor" => {
            (value.is_string(), "must be a text")
        }
        // A meta-schema of somebody else's can change what keywords mean, and is not loaded.
        "$schema" => (
            value.as_str().is_some_and(|of| META_SCHEMAS.iter().any(|own| of.starts_with(own))),
            "must be https://json-schema.org/draft/2020-12/schema; others are not loaded",
        ),
        "$vocabulary" => (value.is_object(), "must be an object"),
        other if ANNOTATIONS.contains(&other) || other.starts_with("x-") => return None,
        _ => (false, NOT_A_KEYWORD),
    };
    (!fits).then(|| what.to_owned())
}

fn unfit_type(value: &Value) -> Option<String> {
    let known = |word: &Value| word.as_str().is_some_and(|word| TYPES.contains(&word));
    let fits = known(value)
        || value.as_array().is_some_and(|words| !words.is_empty() && words.iter().all(known));
    (!fits).then(|| format!("must be of {}", TYPES.join(", ")))
}

fn is_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

/// A whole number of at least 0, however it is written: `2.0` is one.
pub(super) fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let float = value.as_f64().filter(|float| float.fract() == 0.0 && *float >= 0.0)?;
        format!("{float:.0}").parse().ok()
    })
}
