//! An operation becomes a tool.

use super::document::{Document, cut};
use super::plan::{Body, Form, In, Member, Parameter, Plan, Style};
use super::shapes::{Piece, Shapes, Way};
use super::{is_token, servers};
use crate::tools::exchange::{is_json, is_text};
use crate::tools::import::{self, Hints, Imported, LeftOut, Listed};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Tools of one document at most.
const MAX_TOOLS: usize = 10_000;

/// Parameters of one operation at most.
const MAX_PARAMETERS: usize = 200;

/// Characters of a tool's description at most.
const MAX_DESCRIPTION_CHARS: usize = 2_000;

/// Methods that a program may use, in the order in which operations of one path are listed.
const METHODS: &[&str] = &["get", "head", "options", "post", "put", "patch", "delete"];

/// Headers that are not a parameter's to set.
const OWN_HEADERS: &[&str] = &[
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "transfer-encoding",
];

pub(super) struct Operations<'d, 'i> {
    document: &'d Document,
    shapes: Shapes<'d>,
    imported: &'i mut Imported,
    keys: BTreeSet<String>,
}

impl<'d, 'i> Operations<'d, 'i> {
    pub(super) fn of(document: &'d Document, imported: &'i mut Imported) -> Self {
        Self { document, shapes: Shapes::new(document), imported, keys: BTreeSet::new() }
    }

    fn leave(&mut self, what: &str, why: impl Into<String>, whole: bool) {
        self.imported.left_out.push(LeftOut { what: what.to_owned(), why: why.into(), whole });
    }

    pub(super) fn take_all(mut self) {
        let Some(root) = self.document.root.as_object() else { return };
        for (path, item) in Document::named(root, "paths") {
            if path.starts_with("x-") {
                continue;
            }
            let Some(item) = self.document.part(item) else {
                self.leave(path, "What it refers to is not in the document.", true);
                continue;
            };
            if item.contains_key("trace") {
                let what = format!("TRACE {path}");
                self.leave(&what, "The platform sends no requests of this method.", true);
            }
            for method in METHODS {
                let Some(operation) = item.get(*method) else { continue };
                let what = format!("{} {path}", method.to_ascii_uppercase());
                if self.imported.tools.len() >= MAX_TOOLS {
                    let why = format!("The document has over {MAX_TOOLS} operations.");
                    return self.leave(&format!("{what} and all after it"), why, true);
                }
                let Some(operation) = operation.as_object() else {
                    self.leave(&what, "It is no object.", true);
                    continue;
                };
                match self.tool(path, method, item, operation) {
                    Ok(tool) => self.imported.tools.push(tool),
                    Err(why) => self.leave(&what, why, true),
                }
            }
        }
        for note in std::mem::take(&mut self.shapes.notes) {
            let (what, why) = note.split_once(' ').unwrap_or((&note, ""));
            self.leave(what, format!("It {why}; not checked, not described."), false);
        }
    }

    fn tool(
        &mut self,
        path: &str,
        method: &str,
        item: &'d Map<String, Value>,
        operation: &'d Map<String, Value>,
    ) -> Result<Listed, String> {
        let what = format!("{} {path}", method.to_ascii_uppercase());
        let text = |name: &str| operation.get(name).and_then(Value::as_str).map(str::trim);
        let id = text("operationId").filter(|id| !id.is_empty());
        let key =
            id.filter(|id| !self.keys.contains(*id)).map_or_else(|| what.clone(), str::to_owned);
        if !self.keys.insert(key.clone()) {
            return Err(format!("Another operation is known as {key}, too."));
        }
        let mut argument = Argument::default();
        let parameters = self.parameters(&what, path, item, operation, &mut argument)?;
        let body = match operation.get("requestBody") {
            Some(body) => self.body(&what, body, &mut argument),
            None => None,
        };
        let (result, accepts) = self.result(&what, operation);
        let (parameters_schema, whole) = self.shapes.whole(argument.piece(), Way::Sent);
        if !whole {
            let why = "It is too large to be described to its end; what is left is not checked.";
            self.leave(&format!("{what}, arguments"), why, false);
        }
        let own = operation.get("servers").or_else(|| item.get("servers"));
        let plan = Plan {
            method: method.to_ascii_uppercase(),
            path: path.to_owned(),
            servers: servers(own),
            parameters,
            body,
            accepts,
            security: self.security(operation),
        };
        let raw = |text: String| {
            RawValue::from_string(text).map_err(|_| "Its schema cannot be written.".to_owned())
        };
        let tags = operation.get("tags").and_then(Value::as_array);
        let group = tags.and_then(|tags| tags.first()).and_then(Value::as_str);
        Ok(Listed {
            key,
            group: group.map(|group| cut(group, 100)),
            name: id.map_or_else(|| format!("{method} {path}"), str::to_owned),
            description: description(operation, item),
            parameters: raw(parameters_schema)?,
            result: result.map(raw).transpose()?,
            hints: hints(method),
            plan: import::Plan::Openapi(Box::new(plan)),
        })
    }

    /// Credentials that do, by the names of their schemes.
    fn security(&self, operation: &Map<String, Value>) -> Vec<Vec<String>> {
        let all = operation.get("security").or_else(|| self.document.root.get("security"));
        let all = all.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let known = |name: &String| self.imported.credentials.iter().any(|one| one.scheme == *name);
        let sets = all.iter().filter_map(Value::as_object);
        sets.map(|set| set.keys().filter(|name| known(name)).cloned().collect()).take(20).collect()
    }

    fn parameters(
        &mut self,
        what: &str,
        path: &str,
        item: &'d Map<String, Value>,
        operation: &'d Map<String, Value>,
        argument: &mut Argument,
    ) -> Result<Vec<Parameter>, String> {
        let mut all: Vec<(&Map<String, Value>, In, &str)> = Vec::new();
        for from in [item, operation] {
            let listed = from.get("parameters").and_then(Value::as_array);
            for (i, parameter) in listed.into_iter().flatten().enumerate() {
                let Some(parameter) = self.document.part(parameter) else {
                    self.leave(
                        &format!("{what}, parameter {i}"),
                        "What it refers to is not in the document.",
                        false,
                    );
                    continue;
                };
                let text = |name: &str| parameter.get(name).and_then(Value::as_str);
                let name = text("name").unwrap_or_default();
                let place = match text("in").unwrap_or_default() {
                    "path" => In::Path,
                    "query" => In::Query,
                    "header" if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) => {
                        continue;
                    }
                    "header" => In::Header,
                    "cookie" => In::Cookie,
                    _ => {
                        let why = "It says not where it goes.";
                        self.leave(&format!("{what}, parameter {name}"), why, false);
                        continue;
                    }
                };
                if name.is_empty() || (matches!(place, In::Header | In::Cookie) && !is_token(name))
                {
                    let why = "Its name cannot stand in a request.";
                    self.leave(&format!("{what}, parameter {name}"), why, false);
                    continue;
                }
                // The operation's own stands in for the path's.
                all.retain(|(_, other, named)| (*other, *named) != (place, name));
                all.push((parameter, place, name));
            }
        }
        if all.len() > MAX_PARAMETERS {
            return Err(format!("It has over {MAX_PARAMETERS} parameters."));
        }
        let mut parameters = Vec::new();
        for (parameter, place, name) in all {
            if place == In::Path && !path.contains(&format!("{{{name}}}")) {
                let why = "The path has no place for it.";
                self.leave(&format!("{what}, parameter {name}"), why, false);
                continue;
            }
            parameters.push(self.parameter(what, parameter, place, name, argument));
        }
        for name in places(path) {
            if !parameters.iter().any(|one| one.place == In::Path && one.name == name) {
                // Some documents forget to say what the path already says.
                let own =
                    argument.add(name, In::Path, Piece::plain(json!({"type": "string"})), true);
                parameters.push(Parameter {
                    argument: own,
                    name: name.to_owned(),
                    place: In::Path,
                    style: Style::Simple,
                    explode: false,
                    reserved: false,
                    json: false,
                });
            }
        }
        Ok(parameters)
    }

    fn parameter(
        &mut self,
        what: &str,
        parameter: &'d Map<String, Value>,
        place: In,
        name: &str,
        argument: &mut Argument,
    ) -> Parameter {
        let is = |keyword: &str| parameter.get(keyword) == Some(&Value::Bool(true));
        let media = parameter.get("content").and_then(Value::as_object);
        let media = media.and_then(|media| media.iter().next());
        let (schema, json) = match media {
            Some((media, content)) => (content.get("schema"), is_json(&bare(media))),
            None => (parameter.get("schema"), false),
        };
        let any = json!({});
        let path = format!("{what}, parameter {name}");
        let mut piece = self.shapes.piece(schema.unwrap_or(&any), &path, Way::Sent);
        piece.describe(parameter);
        let required = place == In::Path || is("required");
        let style = match (parameter.get("style").and_then(Value::as_str), place) {
            (Some("label"), In::Path) => Style::Label,
            (Some("matrix"), In::Path) => Style::Matrix,
            (Some("spaceDelimited"), In::Query) => Style::SpaceDelimited,
            (Some("pipeDelimited"), In::Query) => Style::PipeDelimited,
            (Some("deepObject"), In::Query) => Style::DeepObject,
            (_, In::Path | In::Header) => Style::Simple,
            (_, In::Query | In::Cookie) => Style::Form,
        };
        let explode = parameter
            .get("explode")
            .and_then(Value::as_bool)
            .unwrap_or(matches!(style, Style::Form | Style::DeepObject));
        Parameter {
            argument: argument.add(name, place, piece, required),
            name: name.to_owned(),
            place,
            style,
            explode,
            reserved: is("allowReserved"),
            json,
        }
    }

    fn body(&mut self, what: &str, body: &'d Value, argument: &mut Argument) -> Option<Body> {
        let what = format!("{what}, body");
        let Some(body) = self.document.part(body) else {
            self.leave(&what, "What it refers to is not in the document.", false);
            return None;
        };
        let all = body.get("content").and_then(Value::as_object)?;
        let (media, content) = all.iter().min_by_key(|(media, _)| preference(&bare(media)))?;
        let bare = bare(media);
        let schema = content.get("schema");
        let any = json!({});
        let (form, mut piece) = match bare.as_str() {
            json if is_json(json) || matches!(json, "*/*" | "application/*") => {
                (Form::Json, self.shapes.piece(schema.unwrap_or(&any), &what, Way::Sent))
            }
            "application/x-www-form-urlencoded" => {
                (Form::Urlencoded, self.shapes.piece(schema.unwrap_or(&any), &what, Way::Sent))
            }
            "multipart/form-data" | "multipart/mixed" => {
                (Form::Multipart, self.shapes.piece(schema.unwrap_or(&any), &what, Way::Sent))
            }
            text if is_text(text) => {
                if schema.is_some_and(|schema| schema.get("type") != Some(&json!("string"))) {
                    let why = format!("It is of {text}: a program writes its text itself.");
                    self.leave(&what, why, false);
                }
                (Form::Text, Piece::plain(json!({"type": "string"})))
            }
            _ => (Form::Binary, Piece::plain(bytes_or_text())),
        };
        piece.describe(body);
        let media = match (form, media.contains('*')) {
            (Form::Json, true) => "application/json".to_owned(),
            (_, true) => "application/octet-stream".to_owned(),
            _ => media.clone(),
        };
        let required = body.get("required") == Some(&Value::Bool(true));
        let members = content.get("encoding").and_then(Value::as_object);
        let members = members.into_iter().flatten().map(|(name, encoding)| member(name, encoding));
        Some(Body {
            members: members.collect(),
            argument: argument.add("body", In::Query, piece, required),
            media,
            form,
        })
    }

    /// The schema of what is answered, and its media types.
    fn result(
        &mut self,
        what: &str,
        operation: &'d Map<String, Value>,
    ) -> (Option<String>, Vec<String>) {
        let all = operation.get("responses").and_then(Value::as_object);
        let is_fine = |status: &str| status.starts_with('2');
        let mut fine: Vec<(&String, &Value)> =
            all.into_iter().flatten().filter(|(status, _)| is_fine(status)).collect();
        if fine.is_empty() {
            fine = all.into_iter().flatten().filter(|(status, _)| *status == "default").collect();
        }
        let mut accepts: Vec<String> = Vec::new();
        let mut schemas: Vec<Value> = Vec::new();
        let mut refers_to = Vec::new();
        for (status, response) in fine {
            let path = format!("{what}, answer {status}");
            let Some(response) = self.document.part(response) else {
                self.leave(&path, "What it refers to is not in the document.", false);
                return (None, accepts);
            };
            let content = response.get("content").and_then(Value::as_object);
            let content = content.filter(|content| !content.is_empty());
            let Some(content) = content else {
                push_new(&mut schemas, json!({"type": "null"}));
                continue;
            };
            for (media, content) in content {
                if !media.contains('*') {
                    push_new(&mut accepts, media.clone());
                }
                let schema = match bare(media) {
                    json if is_json(&json) || json.contains('*') => {
                        let any = json!({});
                        let schema = content.get("schema").unwrap_or(&any);
                        let piece = self.shapes.piece(schema, &path, Way::Answered);
                        refers_to.extend(piece.refers_to);
                        piece.schema
                    }
                    text if is_text(&text) => json!({"type": "string"}),
                    _ => json!({"type": "object", "format": "binary"}),
                };
                push_new(&mut schemas, schema);
            }
        }
        accepts.truncate(10);
        let schema = match schemas.len() {
            0 => return (None, accepts),
            1 => schemas.remove(0),
            _ => json!({ "anyOf": schemas }),
        };
        let (text, whole) = self.shapes.whole(Piece { schema, refers_to }, Way::Answered);
        if !whole {
            let why = "It is too large to be described to its end.";
            self.leave(&format!("{what}, answer"), why, false);
        }
        (Some(text), accepts)
    }
}

impl Piece {
    fn plain(schema: Value) -> Self {
        Self { schema, refers_to: Vec::new() }
    }

    /// What a part says of itself goes with its schema, unless that says something.
    fn describe(&mut self, part: &Map<String, Value>) {
        if self.schema == Value::Bool(true) {
            self.schema = json!({});
        }
        let Some(schema) = self.schema.as_object_mut() else { return };
        if let Some(text) = part.get("description").and_then(Value::as_str)
            && !text.trim().is_empty()
        {
            schema.insert("description".into(), cut(text, 600).into());
        }
        if part.get("deprecated") == Some(&Value::Bool(true)) {
            schema.insert("deprecated".into(), Value::Bool(true));
        }
    }
}

/// The one argument of a tool while it is made.
#[derive(Default)]
struct Argument {
    members: Map<String, Value>,
    required: Vec<Value>,
    refers_to: Vec<String>,
}

impl Argument {
    /// Adds a member, under a name that no other has.
    fn add(&mut self, name: &str, place: In, piece: Piece, required: bool) -> String {
        let behind = match place {
            In::Path => "path",
            In::Query => "query",
            In::Header => "header",
            In::Cookie => "cookie",
        };
        let mut own = name.to_owned();
        let mut number = 1_u32;
        while self.members.contains_key(&own) || own == "__proto__" {
            own = match number {
                1 if name != "body" => format!("{name}_{behind}"),
                _ => format!("{name}_{}", number.saturating_add(1)),
            };
            number = number.saturating_add(1);
        }
        self.members.insert(own.clone(), piece.schema);
        for pointer in piece.refers_to {
            push_new(&mut self.refers_to, pointer);
        }
        if required {
            self.required.push(own.clone().into());
        }
        own
    }

    fn piece(self) -> Piece {
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        schema.insert("additionalProperties".into(), false.into());
        if !self.required.is_empty() {
            schema.insert("required".into(), self.required.into());
        }
        schema.insert("properties".into(), self.members.into());
        Piece { schema: schema.into(), refers_to: self.refers_to }
    }
}

fn push_new<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// The names between braces.
fn places(path: &str) -> Vec<&str> {
    path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

/// A media type without its parameters, in small letters.
fn bare(media: &str) -> String {
    media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Which of the media types of a body is used: the lowest.
fn preference(media: &str) -> u8 {
    match media {
        "application/json" => 0,
        json if is_json(json) => 1,
        "multipart/form-data" => 2,
        "application/x-www-form-urlencoded" => 3,
        "*/*" | "application/*" => 4,
        "text/plain" => 5,
        text if is_text(text) => 6,
        _ => 7,
    }
}

/// What stands for bytes: they are an object in plain form, and a text is its UTF-8.
fn bytes_or_text() -> Value {
    json!({ "type": ["string", "object"], "format": "binary" })
}

fn member(name: &str, encoding: &Value) -> Member {
    let style = match encoding.get("style").and_then(Value::as_str) {
        Some("form") => Some(Style::Form),
        Some("spaceDelimited") => Some(Style::SpaceDelimited),
        Some("pipeDelimited") => Some(Style::PipeDelimited),
        Some("deepObject") => Some(Style::DeepObject),
        _ => None,
    };
    let explode = encoding.get("explode").and_then(Value::as_bool);
    let media = encoding.get("contentType").and_then(Value::as_str);
    Member {
        name: name.to_owned(),
        // Of several the first one will do.
        media: media.and_then(|all| all.split(',').next()).map(|one| one.trim().to_owned()),
        style,
        explode: explode.unwrap_or(matches!(style, None | Some(Style::Form | Style::DeepObject))),
    }
}

fn description(operation: &Map<String, Value>, item: &Map<String, Value>) -> String {
    let text = |name: &str| {
        let own = operation.get(name).or_else(|| item.get(name)).and_then(Value::as_str);
        own.map(str::trim).filter(|text| !text.is_empty())
    };
    let mut parts: Vec<&str> = Vec::new();
    if operation.get("deprecated") == Some(&Value::Bool(true)) {
        parts.push("Deprecated.");
    }
    parts.extend(text("summary"));
    parts.extend(text("description").filter(|text| Some(*text) != parts.last().copied()));
    cut(&parts.join("\n\n"), MAX_DESCRIPTION_CHARS)
}

/// What a method says of a call.
fn hints(method: &str) -> Hints {
    match method {
        "get" | "head" | "options" => {
            Hints { reads: Some(true), destructive: Some(false), idempotent: Some(true) }
        }
        "put" => Hints { reads: Some(false), destructive: None, idempotent: Some(true) },
        "delete" => Hints { reads: Some(false), destructive: Some(true), idempotent: Some(true) },
        _ => Hints { reads: Some(false), destructive: None, idempotent: None },
    }
}
