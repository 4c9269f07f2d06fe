//! TypeScript of a tool: what an agent reads before it writes a call. Pure.
//!
//! The text is a declaration of `tools` with the one tool in it, and of the types that it needs. It
//! compiles under `--strict` whatever the schema (`tests/schemas/`). It says less than the schema where
//! TypeScript cannot say it, and less and less where it would become too long: first descriptions are
//! cut, then what lies deep.

use super::naming::identifier;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

/// Values of an `enum` that are spelt out.
const MAX_LITERALS: usize = 60;

/// Schemas of one rendering.
const MAX_SCHEMAS: usize = 4_000;

/// Levels of a rendering.
const MAX_DEPTH: usize = 40;

/// Names that mean something else where they stand.
const TAKEN_NAMES: &[&str] = &["Arguments", "Promise", "Result", "Uint8Array"];

/// How much is said: tried in this order until it is short enough.
const DETAILS: &[Detail] = &[
    Detail { description_chars: 400, depth: MAX_DEPTH },
    Detail { description_chars: 120, depth: MAX_DEPTH },
    Detail { description_chars: 60, depth: 6 },
    Detail { description_chars: 0, depth: 6 },
    Detail { description_chars: 0, depth: 4 },
    Detail { description_chars: 0, depth: 3 },
    Detail { description_chars: 0, depth: 2 },
    Detail { description_chars: 0, depth: 1 },
];

#[derive(Debug, Clone, Copy)]
struct Detail {
    description_chars: usize,
    depth: usize,
}

/// Declares the tool at `path`, in `most_bytes` if at all possible: at the least the names of its
/// parameters are told.
#[must_use]
pub fn declaration(
    path: &str,
    description: &str,
    parameters: &Value,
    result: Option<&Value>,
    most_bytes: usize,
) -> String {
    let mut out = String::new();
    let about = Detail { description_chars: most_bytes.div_euclid(4), depth: 0 };
    comment(&mut out, "", description, about);
    let asks =
        parameters.get("required").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let optional = if asks { "" } else { "?" };
    let parts: Vec<&str> = path.split('.').collect();
    let (last, outer) = parts.split_last().unwrap_or((&"", &[]));
    out.push_str("declare const tools: { ");
    for part in outer {
        let _ = write!(out, "{}: {{ ", key(part));
    }
    let _ = write!(out, "{}(args{optional}: Arguments): Promise<Result>", key(last));
    out.push_str(&" }".repeat(parts.len()));
    out.push_str(";\n");
    // What is written by the reader comes first; what is answered has the room that is left.
    let unknown = Value::Bool(true);
    let mut taken: BTreeSet<String> = TAKEN_NAMES.iter().map(|name| (*name).to_owned()).collect();
    let room = most_bytes.saturating_sub(out.len());
    let arguments =
        fitting("Arguments", parameters, false, room.div_euclid(3).saturating_mul(2), &mut taken);
    out.push_str(&arguments);
    let room = most_bytes.saturating_sub(out.len());
    out.push_str(&fitting("Result", result.unwrap_or(&unknown), true, room, &mut taken));
    out
}

/// The types of a schema in the most detail that there is room for.
fn fitting(
    name: &str,
    schema: &Value,
    is_result: bool,
    room: usize,
    taken: &mut BTreeSet<String>,
) -> String {
    let mut text = String::new();
    let before = taken.clone();
    for detail in DETAILS {
        text.clear();
        taken.clone_from(&before);
        types(&mut text, name, schema, is_result, *detail, taken);
        if text.len() <= room {
            break;
        }
    }
    text
}

/// Declares the type `name` of a schema, and the types that it needs.
fn types(
    out: &mut String,
    name: &str,
    schema: &Value,
    is_result: bool,
    detail: Detail,
    taken: &mut BTreeSet<String>,
) {
    let mut rendering = Rendering {
        root: schema,
        root_name: name,
        is_result,
        detail,
        schemas: 0,
        names: BTreeMap::new(),
        waiting: VecDeque::new(),
        taken,
        direct: BTreeSet::new(),
    };
    let mut declared: Vec<Declared> = Vec::new();
    let text = rendering.schema(schema, 0, 0, true);
    declared.push(Declared {
        name: name.to_owned(),
        text,
        direct: std::mem::take(&mut rendering.direct),
        about: schema,
    });
    while let Some((name, target, depth)) = rendering.waiting.pop_front() {
        let text = rendering.schema(target, 0, depth, true);
        let direct = std::mem::take(&mut rendering.direct);
        declared.push(Declared { name, text, direct, about: target });
    }
    let endless = endless(&declared);
    for Declared { name, text, about, .. } in &declared {
        comment(out, "", &said(about, detail), detail);
        let text = if endless.contains(name) { "unknown" } else { text };
        let _ = writeln!(out, "type {name} = {text};");
    }
}

/// A type that is declared by name.
struct Declared<'a> {
    name: String,
    text: String,
    /// Names that it is made of, not ones of its members.
    direct: BTreeSet<String>,
    about: &'a Value,
}

/// The types that are made of themselves: there is no such type.
fn endless(declared: &[Declared<'_>]) -> BTreeSet<String> {
    let of: BTreeMap<&str, &BTreeSet<String>> =
        declared.iter().map(|one| (one.name.as_str(), &one.direct)).collect();
    let mut endless = BTreeSet::new();
    for one in declared {
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<&str> = one.direct.iter().map(String::as_str).collect();
        while let Some(name) = waiting.pop() {
            if name == one.name {
                endless.insert(one.name.clone());
                break;
            }
            if seen.insert(name) {
                waiting.extend(
                    of.get(name).into_iter().flat_map(|all| all.iter()).map(String::as_str),
                );
            }
        }
    }
    endless
}

struct Rendering<'a, 't> {
    root: &'a Value,
    root_name: &'t str,
    is_result: bool,
    detail: Detail,
    schemas: usize,
    /// What a pointer is called.
    names: BTreeMap<String, String>,
    /// Types that are named and not yet declared, and how deep they stand.
    waiting: VecDeque<(String, &'a Value, usize)>,
    taken: &'t mut BTreeSet<String>,
    direct: BTreeSet<String>,
}

const UNKNOWN: &str = "unknown";

impl<'a> Rendering<'a, '_> {
    /// The type of a schema. `indent` is of the text, `depth` of the schema; `is_direct` where the
    /// type that is declared is made of this one.
    fn schema(
        &mut self,
        schema: &'a Value,
        indent: usize,
        depth: usize,
        is_direct: bool,
    ) -> String {
        self.schemas = self.schemas.saturating_add(1);
        let members = match schema {
            Value::Bool(false) => return "never".into(),
            Value::Object(members) => members,
            _ => return UNKNOWN.into(),
        };
        if self.schemas > MAX_SCHEMAS {
            return UNKNOWN.into();
        }
        if depth > self.detail.depth
            && IN_DEPTH.iter().any(|keyword| members.contains_key(*keyword))
        {
            return match members.get("type").and_then(Value::as_str) {
                Some("object") => "{ [key: string]: unknown }".into(),
                Some("array") => "unknown[]".into(),
                _ => UNKNOWN.into(),
            };
        }
        let mut all: Vec<String> = Vec::new();
        if let Some(to) = members.get("$ref").or_else(|| members.get("$dynamicRef")) {
            all.push(self.reference(to.as_str().unwrap_or_default(), depth, is_direct));
        }
        if let Some(only) = members.get("const") {
            all.push(literal(only, 0));
        } else if let Some(Value::Array(values)) = members.get("enum") {
            all.push(literals(values));
        } else if let Some(own) = self.kinds(members, indent, depth) {
            all.push(own);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(some)) = members.get(keyword) {
                let some: Vec<String> = some
                    .iter()
                    .map(|one| self.schema(one, indent, depth.saturating_add(1), is_direct))
                    .collect();
                all.push(union(some));
            }
        }
        if let Some(Value::Array(some)) = members.get("allOf") {
            for one in some {
                all.push(self.schema(one, indent, depth.saturating_add(1), is_direct));
            }
        }
        intersection(all)
    }

    fn reference(&mut self, to: &str, depth: usize, is_direct: bool) -> String {
        let Some(pointer) = to.strip_prefix('#') else { return UNKNOWN.into() };
        if pointer.is_empty() {
            if is_direct {
                self.direct.insert(self.root_name.to_owned());
            }
            return self.root_name.to_owned();
        }
        let Some(target) = self.root.pointer(pointer) else { return UNKNOWN.into() };
        let name = if let Some(name) = self.names.get(pointer) {
            name.clone()
        } else {
            let name = self.fresh(pointer);
            self.names.insert(pointer.to_owned(), name.clone());
            self.waiting.push_back((name.clone(), target, depth));
            name
        };
        if is_direct {
            self.direct.insert(name.clone());
        }
        name
    }

    fn fresh(&mut self, pointer: &str) -> String {
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let mut name = identifier(last);
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        if !name.is_ascii() || name.is_empty() || name.contains('$') {
            name = "Type".into();
        }
        let mut own = name.clone();
        let mut number = 1_u32;
        while !self.taken.insert(own.clone()) {
            number = number.saturating_add(1);
            own = format!("{name}{number}");
        }
        own
    }

    /// What `type` and the keywords of its kinds say; `None` where they say nothing.
    fn kinds(
        &mut self,
        schema: &'a Map<String, Value>,
        indent: usize,
        depth: usize,
    ) -> Option<String> {
        let is_binary = schema.get("format").is_some_and(|format| format == "binary");
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ if is_binary => vec!["string"],
            _ if OF_OBJECTS.iter().any(|keyword| schema.contains_key(*keyword)) => vec!["object"],
            _ if OF_LISTS.iter().any(|keyword| schema.contains_key(*keyword)) => vec!["array"],
            _ => return None,
        };
        let mut all = Vec::new();
        for kind in kinds {
            all.push(match kind {
                "string" | "object" if is_binary && !(self.is_result && kind == "string") => {
                    let text = kind == "string";
                    (if text { "string" } else { "Uint8Array" }).to_owned()
                }
                "string" => "string".into(),
                "integer" | "number" => "number".into(),
                "boolean" => "boolean".into(),
                "null" => "null".into(),
                "array" => self.list(schema, indent, depth),
                "object" => self.object(schema, indent, depth),
                _ => UNKNOWN.into(),
            });
        }
        Some(union(all))
    }

    fn list(&mut self, schema: &'a Map<String, Value>, indent: usize, depth: usize) -> String {
        let deeper = depth.saturating_add(1);
        let rest = schema.get("items");
        let first = schema.get("prefixItems").and_then(Value::as_array);
        let Some(first) = first.filter(|first| !first.is_empty() && first.len() <= MAX_LITERALS)
        else {
            let item = match rest {
                Some(rest) => self.schema(rest, indent, deeper, false),
                None => UNKNOWN.into(),
            };
            return if rest == Some(&Value::Bool(false)) {
                "[]".into()
            } else {
                format!("{}[]", grouped(&item))
            };
        };
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let least = usize::try_from(least).unwrap_or(usize::MAX);
        let mut items: Vec<String> = Vec::new();
        for (i, one) in first.iter().enumerate() {
            let optional = if i >= least { "?" } else { "" };
            items.push(format!("{}{optional}", grouped(&self.schema(one, indent, deeper, false))));
        }
        if rest != Some(&Value::Bool(false)) {
            let rest = match rest {
                Some(rest) => self.schema(rest, indent, deeper, false),
                None => UNKNOWN.into(),
            };
            items.push(format!("...{}[]", grouped(&rest)));
        }
        format!("[{}]", items.join(", "))
    }

    fn object(&mut self, schema: &'a Map<String, Value>, indent: usize, depth: usize) -> String {
        let deeper = depth.saturating_add(1);
        let empty = Map::new();
        let named = schema.get("properties").and_then(Value::as_object);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        // That nothing else may be there is said of all parts together, and here one is written.
        let unevaluated = schema.get("unevaluatedProperties");
        let unevaluated = unevaluated.filter(|others| **others != Value::Bool(false));
        let others = schema.get("additionalProperties").or(unevaluated);
        let patterned = schema.get("patternProperties").and_then(Value::as_object);
        let patterned = patterned.filter(|all| !all.is_empty());
        let spare: Vec<&str> = required
            .iter()
            .copied()
            .filter(|name| !named.unwrap_or(&empty).contains_key(*name))
            .collect();
        if named.is_none_or(Map::is_empty) && spare.is_empty() {
            return match (others, patterned) {
                (Some(Value::Bool(false)), None) => "{ [key: string]: never }".into(),
                (Some(others @ Value::Object(_)), None) => {
                    let value = self.schema(others, indent, deeper, false);
                    format!("{{ [key: string]: {value} }}")
                }
                _ => "{ [key: string]: unknown }".into(),
            };
        }
        let pad = "  ".repeat(indent.saturating_add(1));
        let mut out = String::from("{\n");
        // What has to be there comes first.
        let mut members: Vec<(&String, &'a Value)> = named.into_iter().flatten().collect();
        members.sort_by_key(|(name, _)| !required.contains(&name.as_str()));
        for (name, one) in members {
            comment(&mut out, &pad, &said(one, self.detail), self.detail);
            let optional = if required.contains(&name.as_str()) { "" } else { "?" };
            let value = self.schema(one, indent.saturating_add(1), deeper, false);
            let _ = writeln!(out, "{pad}{}{optional}: {value};", key(name));
        }
        let mut seen = BTreeSet::new();
        for name in spare {
            if seen.insert(name) {
                let _ = writeln!(out, "{pad}{}: unknown;", key(name));
            }
        }
        if patterned.is_some() || others.is_some_and(Value::is_object) {
            let _ = writeln!(out, "{pad}[key: string]: unknown;");
        }
        let _ = write!(out, "{}}}", "  ".repeat(indent));
        out
    }
}

/// Keywords that lead deeper.
const IN_DEPTH: &[&str] = &[
    "$ref",
    "$dynamicRef",
    "additionalProperties",
    "allOf",
    "anyOf",
    "items",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
];

const OF_OBJECTS: &[&str] =
    &["additionalProperties", "patternProperties", "properties", "required"];

const OF_LISTS: &[&str] = &["items", "prefixItems"];

/// Several types of which one will do, each told once.
fn union(all: Vec<String>) -> String {
    let mut out: Vec<String> = Vec::new();
    for one in all {
        if one == UNKNOWN {
            return one;
        }
        if !out.contains(&one) {
            out.push(one);
        }
    }
    if out.len() > 1 {
        out.retain(|one| one != "never");
    }
    match out.as_slice() {
        [] => "never".into(),
        [one] => one.clone(),
        several => several.join(" | "),
    }
}

/// Several types all of which hold.
fn intersection(all: Vec<String>) -> String {
    let mut out: Vec<String> = Vec::new();
    for one in all {
        if one != UNKNOWN && !out.contains(&one) {
            out.push(one);
        }
    }
    match out.as_slice() {
        [] => UNKNOWN.into(),
        [one] => one.clone(),
        several => several.iter().map(|one| grouped(one)).collect::<Vec<_>>().join(" & "),
    }
}

/// A type in a place where an operator would tear it apart.
fn grouped(text: &str) -> String {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' | '(' => depth = depth.saturating_add(1),
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            '|' | '&' if depth == 0 => return format!("({text})"),
            _ => {}
        }
    }
    text.to_owned()
}

fn literals(values: &[Value]) -> String {
    if values.len() <= MAX_LITERALS {
        return union(values.iter().map(|one| literal(one, 0)).collect());
    }
    let kinds = values.iter().map(|one| {
        match one {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) | Value::Object(_) => UNKNOWN,
        }
        .to_owned()
    });
    union(kinds.collect())
}

/// The type of one value.
fn literal(value: &Value, depth: usize) -> String {
    let deeper = depth.saturating_add(1);
    match value {
        _ if depth > 8 => UNKNOWN.into(),
        Value::Array(items) if items.len() <= MAX_LITERALS => {
            let items: Vec<String> = items.iter().map(|one| literal(one, deeper)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) if members.len() <= MAX_LITERALS => {
            if members.is_empty() {
                return "{ [key: string]: never }".into();
            }
            let members: Vec<String> = members
                .iter()
                .map(|(name, one)| format!("{}: {}", key(name), literal(one, deeper)))
                .collect();
            format!("{{ {} }}", members.join("; "))
        }
        Value::Array(_) => "unknown[]".into(),
        Value::Object(_) => "{ [key: string]: unknown }".into(),
        Value::String(text) if text.len() > 200 => "string".into(),
        Value::String(text) => quoted(text),
        Value::Number(number) => {
            // What is beyond a double is no literal.
            if number.as_f64().is_some_and(f64::is_finite) {
                number.to_string()
            } else {
                "number".into()
            }
        }
        Value::Null | Value::Bool(_) => value.to_string(),
    }
}

/// A text between quotes.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A name of a member, in quotes where it needs them.
fn key(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'))
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
        && !matches!(name, "constructor" | "new");
    if plain { name.to_owned() } else { quoted(name) }
}

/// What a schema says in words, and the limits that a type cannot say.
fn said(schema: &Value, detail: Detail) -> String {
    if detail.description_chars == 0 {
        return String::new();
    }
    let mut parts: Vec<String> = Vec::new();
    let text = |name: &str| schema.get(name).and_then(Value::as_str);
    if schema.get("deprecated") == Some(&Value::Bool(true)) {
        parts.push("@deprecated".into());
    }
    if let Some(text) = text("description").or_else(|| text("title")) {
        parts.push(cut(text, detail.description_chars));
    }
    let mut limits: Vec<String> = Vec::new();
    if schema.get("type").is_some_and(|kind| kind == "integer") {
        limits.push("integer".into());
    }
    if let Some(format) = text("format").filter(|format| *format != "binary") {
        limits.push(cut(format, 40));
    }
    for (keyword, word) in [
        ("minimum", "≥ "),
        ("exclusiveMinimum", "> "),
        ("maximum", "≤ "),
        ("exclusiveMaximum", "< "),
        ("multipleOf", "a multiple of "),
        ("minLength", "length ≥ "),
        ("maxLength", "length ≤ "),
        ("minItems", "items ≥ "),
        ("maxItems", "items ≤ "),
    ] {
        if let Some(limit @ Value::Number(_)) = schema.get(keyword) {
            limits.push(format!("{word}{limit}"));
        }
    }
    if let Some(pattern) = text("pattern") {
        limits.push(format!("matches {}", cut(pattern, 80)));
    }
    if let Some(default) = schema.get("default") {
        limits.push(format!("default {}", cut(&default.to_string(), 60)));
    }
    if !limits.is_empty() {
        parts.push(format!("({})", limits.join(", ")));
    }
    parts.join(" ")
}

fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}

/// A comment in front of what follows; none where there is nothing to say.
fn comment(out: &mut String, pad: &str, text: &str, detail: Detail) {
    let text = cut(text, detail.description_chars.saturating_add(200));
    if detail.description_chars == 0 || text.is_empty() {
        return;
    }
    // Only line ends that a comment knows; and it ends where it ends.
    let text = text.replace("*/", "*\\/").replace(['\r', '\u{2028}', '\u{2029}'], "\n");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    if let [line] = lines.as_slice() {
        let _ = writeln!(out, "{pad}/** {line} */");
        return;
    }
    let _ = writeln!(out, "{pad}/**");
    for line in lines {
        let _ = writeln!(out, "{}", format!("{pad} * {line}").trim_end());
    }
    let _ = writeln!(out, "{pad} */");
}

#[cfg(test)]
mod tests {
    //! What is told is short, and says what it can. That it compiles is shown by `tests/schemas/`.

    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_tool_is_declared_as_it_is_called() {
        let parameters = json!({
            "type": "object",
            "required": ["owner"],
            "properties": {
                "page": { "type": "integer", "minimum": 1, "default": 1, "description": "Which page." },
                "owner": { "type": "string" },
                "state": { "enum": ["open", "closed", null] },
                "X-Trace": { "type": ["string", "null"] },
                "pet": { "$ref": "#/$defs/pet" },
            },
            "additionalProperties": false,
            "$defs": { "pet": { "type": "object", "properties": {
                "parent": { "$ref": "#/$defs/pet" }, "tags": { "type": "array", "items": { "type": ["string", "number"] } } } } },
        });
        let expected = "\
/** Lists issues. */
declare const tools: { github: { issues: { delete(args: Arguments): Promise<Result> } } };
type Arguments = {
  owner: string;
  \"X-Trace\"?: string | null;
  /** Which page. (integer, ≥ 1, default 1) */
  page?: number;
  pet?: Pet;
  state?: \"open\" | \"closed\" | null;
};
type Pet = {
  parent?: Pet;
  tags?: (string | number)[];
};
type Result = unknown;
";
        let told = declaration("github.issues.delete", "Lists issues.", &parameters, None, 10_000);
        assert_eq!(told, expected);
    }

    #[test]
    fn arguments_that_may_be_left_out_may_be_left_out() {
        let told = declaration(
            "a.b",
            "",
            &json!({ "type": "object" }),
            Some(&json!({ "type": "null" })),
            500,
        );
        assert!(
            told.starts_with(
                "declare const tools: { a: { b(args?: Arguments): Promise<Result> } };"
            )
        );
        assert!(told.ends_with("type Result = null;\n"), "{told}");
    }

    #[test]
    fn what_is_far_too_long_is_told_in_outline() {
        let mut deep = json!({ "type": "string", "description": "x".repeat(5_000) });
        for i in 0..30 {
            deep = json!({ "type": "object", "required": [format!("level{i}")], "properties": {
                format!("level{i}"): deep, "other": { "type": "integer" } } });
        }
        let whole = declaration("a.b", "", &deep, None, 100_000);
        assert!(whole.contains("level0") && whole.contains("level29"));
        let short = declaration("a.b", "", &deep, None, 400);
        assert!(
            short.len() <= 400 && short.contains("level29: {") && !short.contains("level0"),
            "{short}"
        );
        let wide: Map<String, Value> =
            (0..50_000).map(|i| (format!("p{i}"), json!({ "type": "string" }))).collect();
        assert!(
            declaration("a.b", "", &json!({ "properties": wide }), None, 100).contains("unknown")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_told_between_quotes_or_in_a_comment(text in "\\PC{0,12}", name in "\\PC{0,6}") {
            let schema = json!({ "description": format!("*/{text}"), "const": text, "properties": { name: {} } });
            let told = declaration("a.b", &text, &schema, Some(&schema), 5_000);
            prop_assert!(told.contains(&quoted(&text)));
            // A comment ends once, where it should.
            for line in told.lines().filter(|line| line.trim_start().starts_with("/** ")) {
                prop_assert_eq!(line.matches("*/").count(), 1, "{}", line);
            }
        }
    }
}
