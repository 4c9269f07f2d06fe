//! GraphQL: a schema, told by introspection, becomes tools; a tool's arguments a request; an answer
//! a value. Pure.
//!
//! - [`introspection`]: the request that asks a service for its schema.
//! - [`read`]: each field of the query and the mutation type is a tool. Its argument has the field's
//!   own arguments and, where there is something to select, `select`.
//! - [`request`]: the call of a field. Values go as variables, never into the query's text; what a
//!   program selects is read token by token and cannot leave its field.
//! - [`answer`]: the field's value. An answer with errors is an error that has the partial data.

use super::exchange::{Request, Response, ToolError, is_json};
use super::import::{self, Hints, Imported, LeftOut, Listed, Unreadable};
use crate::run::value;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use url::Url;

/// Tools of one schema at most.
const MAX_TOOLS: usize = 5_000;

/// Leaves, and objects that hold them, that are selected where nobody selects.
const MAX_LEAVES: usize = 80;

/// Levels of objects that are selected below a field's own leaves, where nobody selects.
const MAX_LEVELS: usize = 1;

/// Levels of any selection.
const MAX_SELECT_DEPTH: usize = 16;

/// Bytes of a selection.
const MAX_SELECT_BYTES: usize = 20_000;

/// Fields of one input, and values of one enumeration, that are described.
const MAX_DESCRIBED: usize = 1_000;

/// Bytes of a tool's schema, roughly.
const MAX_SCHEMA_BYTES: usize = 48_000;

/// How a field of the query or the mutation type is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Whether it is a field of the mutation type.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mutation: bool,
    /// The field.
    pub field: String,
    /// Its arguments: name and type as GraphQL writes it, `[ID!]!`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<(String, String)>,
    /// What is selected where the caller selects nothing, without the outer braces; empty where the
    /// field is a leaf.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub selection: String,
    /// The member of the argument that selects more; `None` where the field is a leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<String>,
}

/// The query that asks for a schema.
const INTROSPECTION: &str = "query Introspection { __schema { queryType { name } mutationType { name } \
types { kind name fields { name description args { ...input } type { ...type } } \
inputFields { ...input } enumValues { name } possibleTypes { name } } } } \
fragment input on __InputValue { name description type { ...type } defaultValue } \
fragment type on __Type { kind name ofType { kind name ofType { kind name ofType { kind name \
ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } }";

/// The request that asks the service at `endpoint` for its schema.
#[must_use]
pub fn introspection(endpoint: &Url) -> Request {
    post(endpoint, &json!({ "query": INTROSPECTION, "operationName": "Introspection" }).to_string())
}

fn post(endpoint: &Url, body: &str) -> Request {
    Request {
        method: "POST".into(),
        url: endpoint.to_string(),
        headers: vec![
            ("accept".into(), "application/graphql-response+json, application/json".into()),
            ("content-type".into(), "application/json".into()),
        ],
        body: Some(body.as_bytes().to_vec()),
    }
}

// ---- The schema --------------------------------------------------------------------------------

#[derive(Deserialize)]
struct Told {
    data: Option<Data>,
    #[serde(rename = "__schema")]
    schema: Option<Schema>,
    #[serde(default)]
    errors: Vec<Value>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "__schema")]
    schema: Option<Schema>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Schema {
    query_type: Option<Named>,
    mutation_type: Option<Named>,
    types: Vec<Type>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Type {
    kind: String,
    name: Option<String>,
    fields: Option<Vec<Field>>,
    input_fields: Option<Vec<Input>>,
    enum_values: Option<Vec<Named>>,
    possible_types: Option<Vec<Named>>,
}

#[derive(Deserialize)]
struct Field {
    name: String,
    description: Option<String>,
    #[serde(default)]
    args: Vec<Input>,
    #[serde(rename = "type")]
    of: Reference,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    name: String,
    description: Option<String>,
    #[serde(rename = "type")]
    of: Reference,
    default_value: Option<String>,
}

impl Input {
    fn is_required(&self) -> bool {
        self.of.kind == "NON_NULL" && self.default_value.is_none()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    kind: String,
    name: Option<String>,
    of_type: Option<Box<Reference>>,
}

impl Reference {
    /// The type itself, without lists and exclamation marks.
    fn inner(&self) -> &Self {
        self.of_type.as_deref().map_or(self, Self::inner)
    }

    /// As GraphQL writes it.
    fn text(&self) -> String {
        let inner = || self.of_type.as_deref().map(Self::text).unwrap_or_default();
        match self.kind.as_str() {
            "NON_NULL" => format!("{}!", inner()),
            "LIST" => format!("[{}]", inner()),
            _ => self.name.clone().unwrap_or_default(),
        }
    }
}

/// Reads what a service answered to [`introspection`].
///
/// # Errors
///
/// [`Unreadable`] where it told no schema.
pub fn read(text: &str) -> Result<Imported, Unreadable> {
    let no = |why: String| Unreadable { at: None, why };
    let told: Told = serde_json::from_str(text)
        .map_err(|error| no(format!("The answer is no schema of GraphQL: {error}.")))?;
    let schema = told.data.and_then(|data| data.schema).or(told.schema);
    let Some(schema) = schema else {
        let said = told.errors.first().and_then(|error| error.get("message"));
        let said = said.and_then(Value::as_str).unwrap_or("it gave no reason");
        return Err(no(format!(
            "The service does not tell its schema ({said}). Introspection may be off; then give the \
             schema's JSON."
        )));
    };
    let by_name: BTreeMap<&str, &Type> =
        schema.types.iter().filter_map(|one| Some((one.name.as_deref()?, one))).collect();
    let mut reading = Reading { by_name, imported: Imported::default() };
    for (root, mutation) in [(&schema.query_type, false), (&schema.mutation_type, true)] {
        let name = root.as_ref().map(|named| named.name.as_str()).unwrap_or_default();
        let fields = reading.by_name.get(name).and_then(|root| root.fields.as_ref());
        for field in fields.into_iter().flatten() {
            let what = format!("{}.{}", operation(mutation), field.name);
            if reading.imported.tools.len() >= MAX_TOOLS {
                let why = format!("The schema has over {MAX_TOOLS} fields.");
                reading.leave(&format!("{what} and all after it"), why, true);
                break;
            }
            match reading.tool(field, mutation) {
                Ok(tool) => reading.imported.tools.push(tool),
                Err(why) => reading.leave(&what, why, true),
            }
        }
    }
    Ok(reading.imported)
}

fn operation(mutation: bool) -> &'static str {
    if mutation { "mutation" } else { "query" }
}

struct Reading<'a> {
    by_name: BTreeMap<&'a str, &'a Type>,
    imported: Imported,
}

impl<'a> Reading<'a> {
    fn leave(&mut self, what: &str, why: String, whole: bool) {
        self.imported.left_out.push(LeftOut { what: what.to_owned(), why, whole });
    }

    fn tool(&mut self, field: &'a Field, mutation: bool) -> Result<Listed, String> {
        let group = operation(mutation);
        let names = field.args.iter().map(|input| &input.name).chain([&field.name]);
        if !names.clone().all(|name| is_name(name)) {
            return Err("Its name, or one of its arguments, is none of GraphQL.".into());
        }
        let mut inputs = Inputs { by_name: &self.by_name, refers_to: Vec::new() };
        let mut members = Map::new();
        let mut required: Vec<Value> = Vec::new();
        let mut arguments = Vec::new();
        for input in &field.args {
            members.insert(input.name.clone(), inputs.member(input));
            arguments.push((input.name.clone(), input.of.text()));
            if input.is_required() {
                required.push(input.name.as_str().into());
            }
        }
        if !arguments.iter().all(|(_, text)| is_type(text)) {
            return Err("The type of an argument is nested too deep to be told.".into());
        }
        let mut leaves = 0;
        let selected = self.selected(&field.of, &mut Vec::new(), 0, &mut leaves);
        let (selection, result) = selected.unwrap_or_else(|| (String::new(), json!({})));
        let select = (!selection.is_empty()).then(|| {
            let free = |name: &&str| !members.contains_key(*name);
            let own = ["select", "selection", "selectFields"].into_iter().find(free);
            own.unwrap_or("select_").to_owned()
        });
        if let Some(select) = &select {
            members.insert(select.clone(), json!({
                "type": "string",
                "description": format!(
                    "What of it to answer, as GraphQL selects: \"id owner {{ name }}\". Without it: {}",
                    cut(&selection, 300)
                ),
            }));
        }
        let (parameters, whole) = inputs.whole(members, required);
        let what = format!("{group}.{}", field.name);
        if !whole {
            let why = "It is too large to be described to its end; what is left is not checked.";
            self.leave(&format!("{what}, arguments"), why.into(), false);
        }
        let raw = |text: String| {
            RawValue::from_string(text).map_err(|_| "Its schema cannot be written.".to_owned())
        };
        Ok(Listed {
            key: what,
            group: Some(group.to_owned()),
            name: field.name.clone(),
            description: cut(field.description.as_deref().unwrap_or_default(), 2_000),
            parameters: raw(parameters)?,
            result: Some(raw(result.to_string())?),
            hints: Hints {
                reads: Some(!mutation),
                destructive: (!mutation).then_some(false),
                idempotent: (!mutation).then_some(true),
            },
            plan: import::Plan::Graphql(Box::new(Plan {
                mutation,
                field: field.name.clone(),
                arguments,
                selection,
                select,
            })),
        })
    }

    /// What is selected of a type where nobody selects, and the schema of that; `None` where nothing
    /// can be. A leaf's selection is empty.
    fn selected(
        &self,
        of: &'a Reference,
        path: &mut Vec<&'a str>,
        level: usize,
        leaves: &mut usize,
    ) -> Option<(String, Value)> {
        let inner = of.inner();
        let name = inner.name.as_deref()?;
        let own = self.by_name.get(name);
        let (text, schema) = match inner.kind.as_str() {
            "OBJECT" | "INTERFACE" | "UNION" => {
                if path.contains(&name) || path.len() > 8 {
                    return None;
                }
                path.push(name);
                let selected = self.members(own?, path, level, leaves);
                path.pop();
                selected
            }
            "ENUM" => (String::new(), enumeration(own)),
            _ => (String::new(), scalar(name)),
        };
        Some((text, wrapped(of, schema)))
    }

    fn members(
        &self,
        of: &'a Type,
        path: &mut Vec<&'a str>,
        level: usize,
        leaves: &mut usize,
    ) -> (String, Value) {
        let mut words: Vec<String> = Vec::new();
        let mut members = Map::new();
        // An object costs as much as a leaf, so that one without leaves is no way to go on for ever.
        *leaves = leaves.saturating_add(1);
        if of.kind != "OBJECT" {
            words.push("__typename".into());
            members.insert("__typename".into(), json!({ "type": "string" }));
        }
        let fields = of.fields.as_deref().unwrap_or_default();
        let fields = || fields.iter().filter(|field| is_name(&field.name));
        let is_leaf = |field: &&Field| matches!(field.of.inner().kind.as_str(), "SCALAR" | "ENUM");
        for field in fields().filter(is_leaf) {
            if *leaves < MAX_LEAVES && !field.args.iter().any(Input::is_required) {
                let Some((_, schema)) = self.selected(&field.of, path, level, leaves) else {
                    continue;
                };
                *leaves = leaves.saturating_add(1);
                words.push(field.name.clone());
                members.insert(field.name.clone(), schema);
            }
        }
        let has_nodes = fields().any(|field| field.name == "nodes");
        for field in fields().filter(|field| !is_leaf(field)) {
            // A page of results is no level of its own, and one way to its items will do.
            let is_page = matches!(field.name.as_str(), "edges" | "node" | "nodes");
            if (field.name == "edges" && has_nodes) || !field.args.is_empty() {
                continue;
            }
            let next = if is_page { level } else { level.saturating_add(1) };
            if next > MAX_LEVELS || *leaves >= MAX_LEAVES {
                continue;
            }
            if let Some((text, schema)) = self.selected(&field.of, path, next, leaves) {
                words.push(format!("{} {{ {text} }}", field.name));
                members.insert(field.name.clone(), schema);
            }
        }
        if of.kind == "UNION" && level <= MAX_LEVELS {
            for one in of.possible_types.as_deref().unwrap_or_default().iter().take(10) {
                let Some(one) =
                    self.by_name.get(one.name.as_str()).filter(|one| one.kind == "OBJECT")
                else {
                    continue;
                };
                let (text, _) = self.members(one, path, MAX_LEVELS, leaves);
                if text != "__typename" && one.name.as_deref().is_some_and(is_name) {
                    let name = one.name.as_deref().unwrap_or_default();
                    words.push(format!("... on {name} {{ {text} }}"));
                }
            }
        }
        if words.is_empty() {
            words.push("__typename".into());
            members.insert("__typename".into(), json!({ "type": "string" }));
        }
        (words.join(" "), json!({ "type": "object", "properties": members }))
    }
}

/// A schema in the lists that a type is in, with null where that may be.
fn wrapped(of: &Reference, inner: Value) -> Value {
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

fn nullable(mut schema: Value) -> Value {
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

fn scalar(name: &str) -> Value {
    match name {
        "Int" => json!({ "type": "integer" }),
        "Float" => json!({ "type": "number" }),
        "String" | "ID" => json!({ "type": "string" }),
        "Boolean" => json!({ "type": "boolean" }),
        // Of a service's own scalars only the name is known.
        other => json!({ "description": other }),
    }
}

fn enumeration(of: Option<&&Type>) -> Value {
    let values = of.and_then(|of| of.enum_values.as_deref()).unwrap_or_default();
    if values.is_empty() || values.len() > MAX_DESCRIBED {
        return json!({ "type": "string" });
    }
    let values: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
    json!({ "type": "string", "enum": values })
}

/// The schemas of arguments.
struct Inputs<'r, 'a> {
    by_name: &'r BTreeMap<&'a str, &'a Type>,
    refers_to: Vec<String>,
}

impl Inputs<'_, '_> {
    fn member(&mut self, input: &Input) -> Value {
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
    fn whole(mut self, members: Map<String, Value>, required: Vec<Value>) -> (String, bool) {
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

fn object(members: Map<String, Value>, required: Vec<Value>) -> Value {
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), members.into());
    schema.insert("additionalProperties".into(), false.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema.into()
}

/// A name of GraphQL.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A type as GraphQL writes it: a name among brackets and exclamation marks.
fn is_type(text: &str) -> bool {
    is_name(text.trim_matches(['[', ']', '!']))
}

fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

// ---- Calls -------------------------------------------------------------------------------------

/// Makes the request of a call to the service at `endpoint`. `arguments` is the tagged JSON of an
/// object that fits the tool's schema.
///
/// # Errors
///
/// What cannot be asked for, as a sentence that names its place in the arguments.
pub fn request(plan: &Plan, endpoint: &Url, arguments: &str) -> Result<Request, String> {
    let given: BTreeMap<String, &RawValue> = serde_json::from_str(arguments)
        .map_err(|_| "the arguments must be one object".to_owned())?;
    let mut declared = String::new();
    let mut passed = String::new();
    let mut variables = String::from("{");
    // What is not given is left out, so that the service's own default holds.
    for (name, kind) in &plan.arguments {
        let Some(raw) = given.get(name) else { continue };
        let (text, _) =
            value::plain(raw.get()).map_err(|why| format!("{name} is no value: {why}"))?;
        let between = if declared.is_empty() { "" } else { ", " };
        let _ = write!(declared, "{between}${name}: {kind}");
        let _ = write!(passed, "{between}{name}: ${name}");
        let between = if variables.len() > 1 { "," } else { "" };
        let _ = write!(variables, "{between}{}:{text}", Value::from(name.as_str()));
    }
    variables.push('}');
    let selection = match plan.select.as_ref().and_then(|name| Some((name, given.get(name)?))) {
        Some((name, raw)) => {
            let text: Option<String> = serde_json::from_str(raw.get())
                .map_err(|_| format!("{name} must be a text: \"id owner {{ name }}\""))?;
            match text {
                Some(text) => checked(&text).map_err(|why| format!("{name} {why}"))?.to_owned(),
                None => plan.selection.clone(),
            }
        }
        None => plan.selection.clone(),
    };
    let braced = |open: &str, text: &str, close: &str| {
        if text.is_empty() { String::new() } else { format!("{open}{text}{close}") }
    };
    let query = format!(
        "{}{} {{ {}{}{} }}",
        operation(plan.mutation),
        braced("(", &declared, ")"),
        plan.field,
        braced("(", &passed, ")"),
        braced(" { ", &selection, " }"),
    );
    let body = format!("{{\"query\":{},\"variables\":{variables}}}", Value::from(query));
    Ok(post(endpoint, &body))
}

/// A selection that cannot leave its field, without its outer braces.
fn checked(text: &str) -> Result<&str, String> {
    if text.len() > MAX_SELECT_BYTES {
        return Err(format!("is over {MAX_SELECT_BYTES} bytes"));
    }
    let text = text.trim();
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let text = inner.unwrap_or(text).trim();
    let mut open: Vec<char> = Vec::new();
    let mut letters = text.chars().peekable();
    let mut is_empty = true;
    while let Some(c) = letters.next() {
        is_empty &= c.is_whitespace() || c == ',';
        match c {
            '{' | '(' | '[' => {
                open.push(match c {
                    '{' => '}',
                    '(' => ')',
                    _ => ']',
                });
                if open.len() > MAX_SELECT_DEPTH {
                    return Err(format!("is nested in over {MAX_SELECT_DEPTH} levels"));
                }
            }
            '}' | ')' | ']' => {
                if open.pop() != Some(c) {
                    return Err(format!("has a {c} that closes nothing"));
                }
            }
            '"' => {
                if letters.peek() == Some(&'"') {
                    letters.next();
                    if letters.peek() == Some(&'"') {
                        return Err("must have no block texts (\"\"\")".into());
                    }
                    continue;
                }
                loop {
                    match letters.next() {
                        Some('"') => break,
                        Some('\\') => {
                            letters.next();
                        }
                        Some('\n' | '\r') | None => return Err("has a text without an end".into()),
                        Some(_) => {}
                    }
                }
            }
            '#' => return Err("must have no comments (#)".into()),
            '$' => return Err("must have no variables ($): write the value".into()),
            _ if c.is_alphanumeric() || c.is_whitespace() => {}
            '_' | ',' | ':' | '.' | '@' | '!' | '-' | '+' => {}
            other => return Err(format!("has a {other}, which no selection has")),
        }
    }
    if let Some(missing) = open.pop() {
        return Err(format!("lacks a {missing} at its end"));
    }
    if is_empty {
        return Err("selects nothing: name a field, \"id\"".into());
    }
    Ok(text)
}

#[derive(Deserialize)]
struct Answered<'a> {
    #[serde(borrow, default)]
    data: Option<BTreeMap<String, &'a RawValue>>,
    #[serde(default)]
    errors: Option<Vec<Value>>,
}

/// The value of the field as tagged JSON.
///
/// # Errors
///
/// [`ToolError`] where the answer has errors, with the partial data, or is none of GraphQL.
pub fn answer(plan: &Plan, response: Response<'_>) -> Result<String, ToolError> {
    let status = response.status;
    let fails = |message: String, code: Option<String>, data: String| {
        Err(ToolError { name: "GraphqlError", message, code, data })
    };
    let what = format!("{} {}", operation(plan.mutation), plan.field);
    let media = response.header("content-type").unwrap_or_default().to_ascii_lowercase();
    let media = media.split(';').next().unwrap_or_default().trim();
    let read: Option<Answered<'_>> = (is_json(media) || media.is_empty())
        .then(|| serde_json::from_slice(response.body).ok())
        .flatten();
    let Some(Answered { data, errors }) = read else {
        let data = format!("{{\"status\":{status},\"body\":{}}}", response.shown());
        let message = format!("{what} was answered with {status} and no JSON of GraphQL");
        return fails(message, Some(status.to_string()), data);
    };
    let field = data.as_ref().and_then(|data| data.get(&plan.field));
    let field = field.map_or_else(|| Ok("null".into()), |raw| value::tagged(raw.get()));
    let field = match field {
        Ok(field) => field,
        Err(why) => {
            let data = format!("{{\"status\":{status}}}");
            return fails(
                format!("{what} was answered with a value that is none: {why}"),
                None,
                data,
            );
        }
    };
    let errors = errors.unwrap_or_default();
    if errors.is_empty() && data.is_some() && (200..300).contains(&status) {
        return Ok(field);
    }
    let told: Vec<String> = errors.iter().take(3).map(told).collect();
    let more = errors.len().saturating_sub(told.len());
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    let partial = if field == "null" { "" } else { " Part of the data came all the same." };
    let message = if told.is_empty() {
        format!("{what} was answered with {status} and no data")
    } else {
        format!("{what} failed: {}{more}.{partial}", told.join("; "))
    };
    let code = errors.first().and_then(|error| error.pointer("/extensions/code"));
    let code = code.and_then(Value::as_str).map(str::to_owned);
    let shown: Vec<Value> = errors.into_iter().take(20).collect();
    let shown = value::tagged(&Value::from(shown).to_string()).unwrap_or_else(|_| "[]".into());
    fails(message, code, format!("{{\"status\":{status},\"errors\":{shown},\"data\":{field}}}"))
}

/// An error in one line, with its path.
fn told(error: &Value) -> String {
    let said = error.get("message").and_then(Value::as_str).unwrap_or("no message");
    let said = cut(said.trim_end_matches('.'), 500);
    let path = error.get("path").and_then(Value::as_array);
    let path: Vec<String> = path
        .into_iter()
        .flatten()
        .map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned))
        .collect();
    if path.is_empty() { said } else { format!("{said} at {}", path.join(".")) }
}

#[cfg(test)]
mod tests {
    //! A schema becomes tools, arguments a query, answers values.

    use super::*;
    use crate::tools::schema;
    use proptest::prelude::*;

    fn named(kind: &str, name: &str) -> Value {
        json!({ "kind": kind, "name": name, "ofType": null })
    }

    fn not_null(of: &Value) -> Value {
        json!({ "kind": "NON_NULL", "name": null, "ofType": of })
    }

    fn list(of: &Value) -> Value {
        json!({ "kind": "LIST", "name": null, "ofType": of })
    }

    fn field(name: &str, of: &Value, args: &Value) -> Value {
        json!({ "name": name, "description": null, "args": args, "type": of })
    }

    fn input(name: &str, of: &Value, default: &Value) -> Value {
        json!({ "name": name, "description": "Says.", "type": of, "defaultValue": default })
    }

    fn service() -> Value {
        let string = named("SCALAR", "String");
        let id = not_null(&named("SCALAR", "ID"));
        let repo = named("OBJECT", "Repo");
        let none = json!([]);
        json!({ "data": { "__schema": {
            "queryType": { "name": "Query" }, "mutationType": { "name": "Mutation" },
            "types": [
                { "kind": "OBJECT", "name": "Query", "fields": [
                    field("repo", &repo, &json!([
                        input("id", &id, &Value::Null),
                        input("first", &named("SCALAR", "Int"), &json!("10")),
                        input("state", &named("ENUM", "State"), &Value::Null),
                    ])),
                    field("version", &not_null(&string), &none),
                    field("any", &not_null(&list(&named("UNION", "Any"))), &none),
                    field("repos", &named("OBJECT", "RepoPage"), &none),
                ] },
                { "kind": "OBJECT", "name": "Mutation", "fields": [
                    field("add", &repo, &json!([input("input", &not_null(&named("INPUT_OBJECT", "Add")), &Value::Null)])),
                ] },
                { "kind": "OBJECT", "name": "Repo", "description": "R", "fields": [
                    field("id", &id, &none),
                    field("stars", &named("SCALAR", "Int"), &none),
                    field("state", &named("ENUM", "State"), &none),
                    field("when", &named("SCALAR", "DateTime"), &none),
                    field("file", &string, &json!([input("path", &not_null(&string), &Value::Null)])),
                    field("owner", &not_null(&named("OBJECT", "User")), &none),
                    field("issues", &repo, &json!([input("first", &named("SCALAR", "Int"), &Value::Null)])),
                    field("parent", &repo, &none),
                ] },
                { "kind": "OBJECT", "name": "RepoPage", "fields": [
                    field("total", &named("SCALAR", "Int"), &none),
                    field("edges", &list(&named("OBJECT", "RepoEdge")), &none),
                ] },
                { "kind": "OBJECT", "name": "RepoEdge", "fields": [field("node", &repo, &none)] },
                { "kind": "OBJECT", "name": "User", "fields": [
                    field("login", &not_null(&string), &none), field("best", &repo, &none),
                ] },
                { "kind": "UNION", "name": "Any", "possibleTypes": [{ "name": "User" }] },
                { "kind": "ENUM", "name": "State", "enumValues": [{ "name": "OPEN" }, { "name": "SHUT" }] },
                { "kind": "INPUT_OBJECT", "name": "Add", "inputFields": [
                    input("name", &not_null(&string), &Value::Null),
                    input("tags", &list(&not_null(&string)), &Value::Null),
                    input("more", &named("INPUT_OBJECT", "Add"), &Value::Null),
                ] },
            ],
        } } })
    }

    fn tools() -> Vec<Listed> {
        let imported = read(&service().to_string()).unwrap();
        assert_eq!(imported.left_out, []);
        imported.tools
    }

    fn plan(tool: &Listed) -> &Plan {
        match &tool.plan {
            import::Plan::Graphql(plan) => plan,
            other => panic!("{other:?}"),
        }
    }

    fn asked(tool: &Listed, arguments: &Value) -> Result<Value, String> {
        let endpoint = Url::parse("https://api.example.com/graphql").unwrap();
        let request = request(plan(tool), &endpoint, &arguments.to_string())?;
        Ok(serde_json::from_slice(&request.body.unwrap()).unwrap())
    }

    #[test]
    fn a_field_is_a_tool() {
        let tools = tools();
        let keys: Vec<&str> = tools.iter().map(|tool| tool.key.as_str()).collect();
        assert_eq!(
            keys,
            ["query.repo", "query.version", "query.any", "query.repos", "mutation.add"]
        );
        for tool in &tools {
            for raw in [Some(&tool.parameters), tool.result.as_ref()].into_iter().flatten() {
                let parsed: Value = serde_json::from_str(raw.get()).unwrap();
                assert_eq!(schema::check(&parsed, "s"), Ok(()), "{parsed}");
            }
        }
        let selections: Vec<&str> =
            tools.iter().map(|tool| plan(tool).selection.as_str()).collect();
        assert_eq!(
            selections,
            [
                "id stars state when owner { login }",
                "",
                "__typename ... on User { login }",
                "total edges { node { id stars state when owner { login } } }",
                "id stars state when owner { login }",
            ]
        );
        let parameters: Value = serde_json::from_str(tools[0].parameters.get()).unwrap();
        assert_eq!(parameters["required"], json!(["id"]));
        assert_eq!(
            parameters["properties"]["first"],
            json!({ "type": ["integer", "null"], "description": "Says. Default: 10" })
        );
        assert_eq!(parameters["properties"]["state"]["enum"], json!(["OPEN", "SHUT", null]));
        let add: Value = serde_json::from_str(tools[4].parameters.get()).unwrap();
        let fine = json!({ "input": { "name": "a", "tags": ["x"], "more": { "name": "b", "more": null } } });
        assert_eq!(schema::validate(&add, &fine, "a"), []);
        let problems =
            schema::validate(&add, &json!({ "input": { "name": "a", "tags": [1] } }), "a");
        assert_eq!(problems[0].to_string(), "a.input.tags[0] must be a string, not a number");
        assert_eq!((tools[0].hints.reads, tools[4].hints.reads), (Some(true), Some(false)));
    }

    #[test]
    fn values_go_as_variables() {
        let tools = tools();
        assert_eq!(
            asked(&tools[0], &json!({ "id": "1\"}", "state": "OPEN" })).unwrap(),
            json!({
                "query": "query($id: ID!, $state: State) { repo(id: $id, state: $state) { id stars state when owner { login } } }",
                "variables": { "id": "1\"}", "state": "OPEN" },
            })
        );
        assert_eq!(
            asked(&tools[1], &json!({})).unwrap(),
            json!({ "query": "query { version }", "variables": {} })
        );
        let date = json!({ "input": { "name": { "$": "date", "v": "2026-01-01T00:00:00.000Z" } } });
        assert_eq!(
            asked(&tools[4], &date).unwrap()["variables"]["input"]["name"],
            json!("2026-01-01T00:00:00.000Z")
        );
    }

    #[test]
    fn a_selection_stays_in_its_field() {
        let tools = tools();
        let select = |text: &str| asked(&tools[4], &json!({ "input": {}, "select": text }));
        for text in [
            "id",
            "{ id owner { login } }",
            "id, items(first: 2, where: { a: [1, -2.5e+3, \"}\", \"\\\"\", \"\"], b: ENUM }) { n }",
            "a: id ... on Repo @include(if: true) { id }",
        ] {
            let query = select(text).unwrap_or_else(|why| panic!("{text} {why}"));
            assert!(query["query"].as_str().unwrap().starts_with("mutation($input: Add!) { add("));
        }
        for (text, why) in [
            ("id } destroyEverything { id", "closes nothing"),
            ("id } } mutation { x", "closes nothing"),
            ("{ id } evil { x }", "closes nothing"),
            ("id # }", "comments"),
            ("id(a: $input)", "variables"),
            ("id { a", "lacks a }"),
            ("a(b: [1)", "closes nothing"),
            ("a(b: \"x)", "without an end"),
            ("a(b: \"\"\"x\"\"\")", "block"),
            ("", "selects nothing"),
            ("{}", "selects nothing"),
            ("a & b", "which no selection has"),
        ] {
            let told = select(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
        assert!(select(&"a{".repeat(50)).unwrap_err().contains("levels"));
    }

    #[test]
    fn an_answer_is_a_value_or_an_error_with_what_came() {
        let tools = tools();
        let headers = [("content-type".to_owned(), "application/json".to_owned())];
        let told = |status, body: &str| {
            answer(plan(&tools[0]), Response { status, headers: &headers, body: body.as_bytes() })
        };
        assert_eq!(told(200, "{\"data\":{\"repo\":{\"n\":1.0}}}"), Ok("{\"n\":1.0}".into()));
        assert_eq!(told(200, "{\"data\":{\"repo\":null}}"), Ok("null".into()));
        let error = told(
            200,
            "{\"data\":{\"repo\":{\"id\":1}},\"errors\":[{\"message\":\"No stars.\",\"path\":[\"repo\",\"stars\",0],\"extensions\":{\"code\":\"GONE\"}}]}",
        )
        .unwrap_err();
        assert_eq!(
            error.message,
            "query repo failed: No stars at repo.stars.0. Part of the data came all the same."
        );
        assert_eq!(error.code.as_deref(), Some("GONE"));
        let data: Value = serde_json::from_str(&error.data).unwrap();
        assert_eq!(data["data"], json!({ "id": 1 }));
        assert!(
            told(400, "{\"errors\":[{\"message\":\"bad\"}]}")
                .unwrap_err()
                .message
                .contains("failed: bad")
        );
        assert!(told(502, "<html>").unwrap_err().message.contains("502"));
        assert!(told(200, "{}").is_err() && told(200, "[]").is_err());
    }

    #[test]
    fn a_service_that_tells_nothing_says_why() {
        for (text, why) in [
            ("{\"errors\":[{\"message\":\"off\"}]}", "(off)"),
            ("{}", "no reason"),
            ("<html>", "no schema of GraphQL"),
        ] {
            let told = read(text).unwrap_err().to_string();
            assert!(told.contains(why), "{told}");
        }
        let whole = service();
        assert_eq!(read(&whole["data"].to_string()).unwrap().tools.len(), 5);
        let request = introspection(&Url::parse("https://a.example/").unwrap());
        let body: Value = serde_json::from_slice(&request.body.unwrap()).unwrap();
        let query = body["query"].as_str().unwrap();
        assert_eq!(query.matches('{').count(), query.matches('}').count());
    }

    fn any_reference() -> impl Strategy<Value = Value> {
        let kinds = ["OBJECT", "SCALAR", "ENUM", "UNION", "INTERFACE", "INPUT_OBJECT", "odd"];
        let names = ["A", "B", "C", "Query", "Int", "no name"];
        let leaf = (prop::sample::select(kinds.to_vec()), prop::sample::select(names.to_vec()))
            .prop_map(|(kind, name)| named(kind, name));
        leaf.prop_recursive(3, 8, 1, |inner| {
            prop_oneof![inner.clone().prop_map(|of| list(&of)), inner.prop_map(|of| not_null(&of))]
        })
    }

    fn any_fields() -> impl Strategy<Value = Value> {
        let name =
            prop::sample::select(vec!["a", "b", "edges", "node", "nodes", "select", "no name"]);
        let args = prop::collection::vec((name.clone(), any_reference()), 0..3).prop_map(|all| {
            let all = all.iter().map(|(name, of)| input(name, of, &Value::Null));
            Value::from(all.collect::<Vec<_>>())
        });
        prop::collection::vec((name, any_reference(), args), 0..5).prop_map(|all| {
            all.iter().map(|(name, of, args)| field(name, of, args)).collect::<Vec<_>>().into()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_schema_becomes_tools_or_is_told(
            all in prop::collection::vec((any_fields(), prop::sample::select(vec!["OBJECT", "UNION", "INPUT_OBJECT"])), 4)
        ) {
            let types: Vec<Value> = ["Query", "A", "B", "C"].iter().zip(&all).map(|(name, (fields, kind))| {
                let kind = if *name == "Query" { "OBJECT" } else { *kind };
                json!({ "kind": kind, "name": name, "fields": fields, "inputFields": fields.as_array().map(|all| {
                    all.iter().map(|one| input("x", &one["type"], &Value::Null)).collect::<Vec<_>>()
                }), "possibleTypes": [{ "name": "A" }, { "name": "B" }] })
            }).collect();
            let text = json!({ "__schema": { "queryType": { "name": "Query" }, "types": types } });
            for tool in read(&text.to_string()).unwrap().tools {
                for raw in [Some(&tool.parameters), tool.result.as_ref()].into_iter().flatten() {
                    let parsed: Value = serde_json::from_str(raw.get()).unwrap();
                    prop_assert_eq!(schema::check(&parsed, "s"), Ok(()), "{}", parsed);
                }
                prop_assert!(plan(&tool).selection.len() < 20_000);
                prop_assert!(plan(&tool).selection.is_empty() || checked(&plan(&tool).selection).is_ok());
            }
        }

        #[test]
        fn no_selection_closes_its_field(text in "[a-z{}()\\[\\]\"\\\\#$,:.@! \n]{0,24}") {
            if let Ok(text) = checked(&text) {
                // Without texts, whatever is opened is closed, in order.
                let mut depth = 0_usize;
                let mut quoted = false;
                let mut escaped = false;
                for c in text.chars() {
                    match c {
                        _ if escaped => escaped = false,
                        '\\' if quoted => escaped = true,
                        '"' => quoted = !quoted,
                        '{' if !quoted => depth = depth.saturating_add(1),
                        '}' if !quoted => {
                            prop_assert!(depth > 0, "{}", text);
                            depth = depth.saturating_sub(1);
                        }
                        _ => {}
                    }
                }
                prop_assert!(depth == 0 && !quoted, "{}", text);
            }
        }
    }
}
