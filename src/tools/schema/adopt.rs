//! Schemas from elsewhere, made into ones that can be held.

use super::check::{NOT_A_KEYWORD, unfit};
use super::index::{Holds, Index, holds};
use super::pattern::Pattern;
use super::{MAX_NESTING, member};
use serde_json::{Map, Value, json};

/// Notes kept of one schema.
const MAX_NOTES: usize = 20;

/// A schema, and what of it was left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Adopted {
    /// A schema that [`super::check`] lets pass.
    pub schema: Value,
    /// What is not held: the place, and why.
    pub notes: Vec<String>,
}

/// Makes a schema of 2020-12 of one from elsewhere: of drafts 4 to 2019-09, of `OpenAPI` 3.0, or of
/// whatever a server calls one. What cannot be held is left out, so that more values fit, never
/// fewer; `path` is what the schema is called in the notes.
#[must_use]
pub fn adopt(schema: &Value, path: &str) -> Adopted {
    let mut adoption = Adoption {
        notes: Vec::new(),
        bare_references: is_old(schema),
        recursive: false,
        part: None,
    };
    let mut schema = adoption.schema(schema, path, 0);
    adoption.cut_loose_ends(&mut schema, path);
    let mut notes = adoption.notes;
    notes.truncate(MAX_NOTES);
    Adopted { schema, notes }
}

/// A schema that is a part of a document, and what the document makes of it.
pub struct Part<'a> {
    /// Whether what stands beside a reference means nothing, as in `OpenAPI` 3.0.
    pub bare_references: bool,
    /// Members with this keyword are not there: `readOnly` in what is sent.
    pub hidden: &'static str,
    /// Whether a file may be given as bytes, which are an object in plain form.
    pub bytes: bool,
    /// What a reference is in the schema that this becomes a part of; `None` where it leads nowhere.
    pub reference: &'a mut dyn FnMut(&str) -> Option<String>,
}

impl std::fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Part").field("hidden", &self.hidden).finish_non_exhaustive()
    }
}

/// The most characters of a description in a part of a document.
const MAX_DESCRIPTION_CHARS: usize = 600;

/// Makes a part of a schema of 2020-12 of a part of a document. References are the document's, so
/// whoever puts the parts together has to have what they lead to.
#[must_use]
pub fn adopt_part(schema: &Value, path: &str, part: Part<'_>) -> Adopted {
    let bare_references = part.bare_references;
    let mut adoption =
        Adoption { notes: Vec::new(), bare_references, recursive: false, part: Some(part) };
    let schema = adoption.schema(schema, path, 0);
    Adopted { schema, notes: adoption.notes }
}

struct Adoption<'a> {
    notes: Vec<String>,
    /// The document's part in it, if the schema is a part of one.
    part: Option<Part<'a>>,
    /// Whether what stands beside a reference means nothing.
    bare_references: bool,
    /// Whether the resource that is read has the recursive anchor of 2019-09.
    recursive: bool,
}

/// The dynamic anchor that stands for the recursive one.
const RECURSIVE: &str = "recursive";

/// Whether a schema says that it is of a draft before 2019-09.
fn is_old(schema: &Value) -> bool {
    schema
        .get("$schema")
        .and_then(Value::as_str)
        .is_some_and(|draft| draft.contains("json-schema.org/draft-0"))
}

/// Keywords that say how a document is shown, or what is said elsewhere.
const SILENT: &[&str] = &[
    "$comment",
    "$recursiveAnchor",
    "$schema",
    "$vocabulary",
    "discriminator",
    "externalDocs",
    "id",
    "nullable",
    "optional",
    "xml",
];

/// What is kept beside a reference where the rest means nothing.
const BESIDE_REFERENCES: &[&str] =
    &["$ref", "$defs", "definitions", "description", "nullable", "title"];

impl Adoption<'_> {
    fn note(&mut self, path: &str, why: &str) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(format!("{path} {why}"));
        }
    }

    fn schema(&mut self, schema: &Value, path: &str, depth: usize) -> Value {
        let members = match schema {
            Value::Bool(_) => return schema.clone(),
            Value::Object(members) => members,
            _ => {
                self.note(path, "is no schema");
                return Value::Bool(true);
            }
        };
        if depth >= MAX_NESTING {
            self.note(path, "is nested too deep");
            return Value::Bool(true);
        }
        let deeper = depth.saturating_add(1);
        let mut out = Map::new();
        let outer = self.recursive;
        if depth == 0 || members.contains_key("$id") {
            self.recursive = members.get("$recursiveAnchor") == Some(&Value::Bool(true));
            if self.recursive {
                out.insert("$dynamicAnchor".into(), json!(RECURSIVE));
            }
        }
        let bare = self.bare_references && members.get("$ref").is_some_and(Value::is_string);
        for (keyword, value) in members {
            if bare && !BESIDE_REFERENCES.contains(&keyword.as_str()) {
                continue;
            }
            let at = member(path, keyword);
            if self.part.is_some() && self.in_part(members, keyword, value, &at, deeper, &mut out) {
                continue;
            }
            match (keyword.as_str(), value) {
                ("items", Value::Array(first)) => {
                    let first: Vec<Value> = first
                        .iter()
                        .enumerate()
                        .map(|(i, one)| self.schema(one, &format!("{at}[{i}]"), deeper))
                        .collect();
                    if !first.is_empty() {
                        out.insert("prefixItems".into(), Value::Array(first));
                    }
                    if let Some(rest) = members.get("additionalItems") {
                        let rest = self.schema(rest, &member(path, "additionalItems"), deeper);
                        out.insert("items".into(), rest);
                    }
                }
                ("dependencies", Value::Object(named)) => {
                    self.dependencies(named, &at, deeper, &mut out);
                }
                // Read with `items`, where it meant anything, and with the limit; what draft 3
                // says of the member itself is not followed.
                ("additionalItems", _)
                | ("exclusiveMinimum" | "exclusiveMaximum" | "required", Value::Bool(_)) => {}
                ("minimum" | "maximum", Value::Number(_)) => {
                    let exclusive =
                        if keyword == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" };
                    let is = members.get(exclusive) == Some(&Value::Bool(true));
                    out.insert((if is { exclusive } else { keyword }).to_owned(), value.clone());
                }
                ("$recursiveRef", Value::String(_)) => {
                    if self.recursive {
                        out.insert("$dynamicRef".into(), json!(format!("#{RECURSIVE}")));
                    } else {
                        out.insert("$ref".into(), json!("#"));
                    }
                }
                ("required", Value::Array(names)) => {
                    let names: Vec<Value> =
                        names.iter().filter(|name| name.is_string()).cloned().collect();
                    out.insert("required".into(), Value::Array(names));
                }
                ("type", _) => self.kind(value, &at, &mut out),
                ("patternProperties", Value::Object(named)) => {
                    self.patterns(named, &at, deeper, &mut out);
                }
                (name, _) if SILENT.contains(&name) => {}
                _ => self.keyword(keyword, value, &at, deeper, &mut out),
            }
        }
        self.recursive = outer;
        if self.part.as_ref().is_some_and(|part| part.bytes) && is_file(&out) {
            out.insert("type".into(), json!(["string", "object"]));
            out.insert("format".into(), json!("binary"));
        }
        if members.get("patternProperties").is_some_and(|all| {
            all.as_object().is_some_and(|all| all.keys().any(|one| Pattern::read(one).is_err()))
        }) {
            // Which members the others are is not known without every pattern.
            out.remove("additionalProperties");
            out.remove("unevaluatedProperties");
        }
        let is_closed = out.get("additionalProperties") == Some(&Value::Bool(false));
        if self.part.is_some() && is_closed && out.contains_key("allOf") {
            // To the letter nothing would fit: what is meant is the object that the parts make together.
            out.remove("additionalProperties");
            out.entry("unevaluatedProperties").or_insert(Value::Bool(false));
        }
        if members.get("nullable") == Some(&Value::Bool(true)) {
            return nullable(out);
        }
        Value::Object(out)
    }

    /// Keywords that a document has a say in; whether this was one.
    fn in_part(
        &mut self,
        members: &Map<String, Value>,
        keyword: &str,
        value: &Value,
        at: &str,
        depth: usize,
        out: &mut Map<String, Value>,
    ) -> bool {
        let Some(part) = &mut self.part else { return false };
        let hidden = part.hidden;
        let is_hidden = |one: &Value| one.get(hidden) == Some(&Value::Bool(true));
        match (keyword, value) {
            ("$ref" | "$dynamicRef", Value::String(to)) => {
                match (part.reference)(to) {
                    Some(own) => {
                        out.insert("$ref".into(), Value::String(own));
                    }
                    None => self.note(at, &format!("refers to {to}, which is not in the document")),
                }
                true
            }
            ("properties", Value::Object(named)) => {
                let shown = named.iter().filter(|(_, one)| !is_hidden(one));
                let adopted = shown
                    .map(|(name, one)| (name.clone(), self.schema(one, &member(at, name), depth)))
                    .collect();
                out.insert("properties".into(), Value::Object(adopted));
                true
            }
            ("required", Value::Array(names)) => {
                let own = members.get("properties").and_then(Value::as_object);
                let shown = names.iter().filter(|name| {
                    name.as_str().is_some_and(|name| {
                        !own.and_then(|own| own.get(name)).is_some_and(is_hidden)
                    })
                });
                out.insert("required".into(), Value::Array(shown.cloned().collect()));
                true
            }
            ("description", Value::String(text)) => {
                out.insert("description".into(), Value::String(cut(text, MAX_DESCRIPTION_CHARS)));
                true
            }
            // Examples weigh more than all the rest; names that are a document's are not the part's.
            (
                "example" | "examples" | "title" | "readOnly" | "writeOnly" | "$id" | "$anchor"
                | "$dynamicAnchor" | "$recursiveAnchor" | "$recursiveRef",
                _,
            ) => true,
            _ => false,
        }
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &Value,
        at: &str,
        depth: usize,
        out: &mut Map<String, Value>,
    ) {
        let adopted = match (holds(keyword), value) {
            (Holds::One, _) => self.schema(value, at, depth),
            (Holds::List, Value::Array(list)) if !list.is_empty() => Value::Array(
                list.iter()
                    .enumerate()
                    .map(|(i, one)| self.schema(one, &format!("{at}[{i}]"), depth))
                    .collect(),
            ),
            (Holds::Named, Value::Object(named)) => Value::Object(
                named
                    .iter()
                    .map(|(name, one)| (name.clone(), self.schema(one, &member(at, name), depth)))
                    .collect(),
            ),
            (Holds::List | Holds::Named, _) => return self.note(at, "holds no schemas"),
            (Holds::Other, _) => match unfit(keyword, value) {
                None if keyword.starts_with("x-") => return,
                None => value.clone(),
                Some(why) if why == NOT_A_KEYWORD => return,
                Some(why) => return self.note(at, &why),
            },
        };
        out.insert(keyword.to_owned(), adopted);
    }

    /// Types: those that are known; `any` and `file` are words of older documents.
    fn kind(&mut self, value: &Value, at: &str, out: &mut Map<String, Value>) {
        if unfit("type", value).is_none() {
            out.insert("type".into(), value.clone());
            return;
        }
        let words = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let mut kinds: Vec<Value> = Vec::new();
        for word in words {
            let known = match word.as_str() {
                Some("any") => return,
                Some("file" | "text") => "string",
                Some("int" | "long") => "integer",
                Some("float" | "double") => "number",
                Some("bool") => "boolean",
                Some("list") => "array",
                Some("dict" | "map") => "object",
                Some(word) if unfit("type", &json!(word)).is_none() => word,
                _ => return self.note(at, "is no type"),
            };
            kinds.push(json!(known));
        }
        if kinds.is_empty() {
            return self.note(at, "is no type");
        }
        out.insert("type".into(), Value::Array(kinds));
    }

    fn patterns(
        &mut self,
        named: &Map<String, Value>,
        at: &str,
        depth: usize,
        out: &mut Map<String, Value>,
    ) {
        let mut kept = Map::new();
        for (pattern, one) in named {
            match Pattern::read(pattern) {
                Ok(_) => {
                    let one = self.schema(one, &member(at, pattern), depth);
                    kept.insert(pattern.clone(), one);
                }
                Err(why) => self.note(&member(at, pattern), &why),
            }
        }
        out.insert("patternProperties".into(), Value::Object(kept));
    }

    fn dependencies(
        &mut self,
        named: &Map<String, Value>,
        at: &str,
        depth: usize,
        out: &mut Map<String, Value>,
    ) {
        let mut required = Map::new();
        let mut schemas = Map::new();
        for (name, one) in named {
            match one {
                Value::String(other) => {
                    required.insert(name.clone(), json!([other]));
                }
                Value::Array(others) if others.iter().all(Value::is_string) => {
                    required.insert(name.clone(), one.clone());
                }
                _ => {
                    let one = self.schema(one, &member(at, name), depth);
                    schemas.insert(name.clone(), one);
                }
            }
        }
        if !required.is_empty() {
            out.insert("dependentRequired".into(), Value::Object(required));
        }
        if !schemas.is_empty() {
            out.insert("dependentSchemas".into(), Value::Object(schemas));
        }
    }

    /// Removes references that lead nowhere.
    fn cut_loose_ends(&mut self, schema: &mut Value, path: &str) {
        // What a reference leads to may hold others, and may be no schema: it is looked at until
        // nothing changes. Each round removes a reference at least.
        loop {
            let loose = {
                let index = Index::of(schema);
                let mut search = Loose {
                    index: &index,
                    seen: std::collections::HashSet::new(),
                    found: Vec::new(),
                };
                search.schema(schema, 0, "", 0);
                search.found
            };
            if loose.is_empty() {
                break;
            }
            for (pointer, keyword) in loose {
                let at = schema.pointer_mut(&pointer).and_then(Value::as_object_mut);
                if let Some(to) = at.and_then(|members| members.remove(keyword)) {
                    self.note(path, &format!("refers to {to}, which is not in it"));
                }
            }
        }
        if let Err(problem) = super::check(schema, path) {
            // A reference can lead into what is no schema, under a keyword that nobody knows.
            self.note(&problem.path, &problem.what);
            *schema = json!({});
        }
    }
}

/// The references that lead nowhere: the pointer to where they stand, and the keyword.
struct Loose<'a> {
    index: &'a Index<'a>,
    seen: std::collections::HashSet<*const Value>,
    found: Vec<(String, &'static str)>,
}

impl<'a> Loose<'a> {
    fn schema(&mut self, schema: &'a Value, outer: usize, pointer: &str, depth: usize) {
        let Some(members) = schema.as_object().filter(|_| depth <= MAX_NESTING) else { return };
        if !self.seen.insert(std::ptr::from_ref(schema)) {
            return;
        }
        let resource = self.index.resource_of(schema, outer);
        let deeper = depth.saturating_add(1);
        for (keyword, value) in members {
            let at = format!("{pointer}/{}", escaped(keyword));
            match (holds(keyword), value) {
                (Holds::One, one) => self.schema(one, resource, &at, deeper),
                (Holds::List, Value::Array(list)) => {
                    for (i, one) in list.iter().enumerate() {
                        self.schema(one, resource, &format!("{at}/{i}"), deeper);
                    }
                }
                (Holds::Named, Value::Object(named)) => {
                    for (name, one) in named {
                        self.schema(one, resource, &format!("{at}/{}", escaped(name)), deeper);
                    }
                }
                _ => {}
            }
        }
        for keyword in ["$ref", "$dynamicRef"] {
            if let Some(Value::String(to)) = members.get(keyword)
                && self.index.resolve(resource, to).is_none()
            {
                self.found.push((pointer.to_owned(), keyword));
            }
        }
    }
}

fn escaped(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

/// The same schema, and null fits too.
fn nullable(mut schema: Map<String, Value>) -> Value {
    if let Some(Value::Array(allowed)) = schema.get_mut("enum")
        && !allowed.contains(&Value::Null)
    {
        allowed.push(Value::Null);
    }
    let combined = ["$ref", "allOf", "anyOf", "oneOf", "not", "const", "if"]
        .iter()
        .any(|keyword| schema.contains_key(*keyword));
    match schema.get_mut("type") {
        Some(kinds) if !combined => {
            let mut all = match kinds.take() {
                Value::Array(all) => all,
                one => vec![one],
            };
            if !all.contains(&json!("null")) {
                all.push(json!("null"));
            }
            *kinds = Value::Array(all);
            Value::Object(schema)
        }
        None if !combined => Value::Object(schema),
        _ => {
            let mut outer = Map::new();
            for keyword in ["title", "description", "default", "examples", "deprecated", "$defs"] {
                if let Some(value) = schema.remove(keyword) {
                    outer.insert(keyword.to_owned(), value);
                }
            }
            outer.insert("anyOf".into(), json!([schema, { "type": "null" }]));
            Value::Object(outer)
        }
    }
}

/// The first so many characters of a text.
fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Whether a schema is one of a file: a text of any bytes.
fn is_file(schema: &Map<String, Value>) -> bool {
    let text = schema.get("type").is_none_or(|kind| kind == "string");
    let binary = schema.get("format").is_some_and(|format| format == "binary");
    let typed = schema.contains_key("contentMediaType") && !schema.contains_key("contentEncoding");
    text && (binary || typed)
}
