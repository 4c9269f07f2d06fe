//! Schemas of a document, put together for one tool at a time.
//!
//! Each is adopted once for what is sent and once for what is answered, and kept as text. A tool's
//! schema takes with it what its references lead to, the nearest first, until it is as large as one
//! may be; what is left then is not described.

use super::document::Document;
use crate::tools::schema::{self, Part};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

/// Bytes of all schemas of an import, roughly: a fifth of an isolate's 128 MB, which hold the document
/// as well. Beyond it a schema is an outline.
const MAX_ALL_BYTES: usize = 24_000_000;

/// Values of all schemas that are adopted, each as often as it is: operations share parts, and a part
/// can be large.
const MAX_ALL_VALUES: usize = 20_000_000;

/// Which way a value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Way {
    /// Sent: what is read-only is not there.
    Sent,
    /// Answered: what is write-only is not there.
    Answered,
}

impl Way {
    /// Bytes of a schema with all that it takes with it. What is answered is only told, so less does.
    fn most_bytes(self, is_outline: bool) -> usize {
        match (self, is_outline) {
            (Self::Sent, false) => 48_000,
            (Self::Answered, false) => 24_000,
            (Self::Sent, true) => 4_000,
            (Self::Answered, true) => 1_000,
        }
    }
}

/// A schema of the document, adopted.
#[derive(Debug)]
struct Shape {
    text: String,
    /// Pointers of what it refers to, in order.
    refers_to: Vec<String>,
}

/// The schemas of a document.
#[derive(Debug)]
pub(super) struct Shapes<'d> {
    document: &'d Document,
    known: HashMap<(String, Way), Rc<Shape>>,
    /// What a pointer is called in a tool's schema.
    names: HashMap<String, String>,
    taken: BTreeSet<String>,
    /// What could not be taken over, once each.
    pub(super) notes: BTreeSet<String>,
    all_bytes: usize,
    /// Values that may still be adopted.
    values_left: usize,
}

/// A schema with what it refers to, for one place of a tool's schema.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) schema: Value,
    pub(super) refers_to: Vec<String>,
}

impl<'d> Shapes<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self {
            document,
            known: HashMap::new(),
            names: HashMap::new(),
            taken: BTreeSet::new(),
            notes: BTreeSet::new(),
            all_bytes: 0,
            values_left: MAX_ALL_VALUES,
        }
    }

    /// Adopts a schema; `path` is what it is called in notes.
    pub(super) fn piece(&mut self, schema: &Value, path: &str, way: Way) -> Piece {
        if !spend(schema, &mut self.values_left) {
            self.notes.insert(format!("{path} is one schema too many"));
            return Piece { schema: json!({}), refers_to: Vec::new() };
        }
        let document = self.document;
        let (names, taken) = (&mut self.names, &mut self.taken);
        let mut refers_to = Vec::new();
        let mut reference = |to: &str| {
            let (target, pointer) = document.target(to)?;
            if !target.is_object() && !target.is_boolean() {
                return None;
            }
            let name = names.entry(pointer.clone()).or_insert_with(|| fresh(&pointer, taken));
            if !refers_to.contains(&pointer) {
                refers_to.push(pointer);
            }
            Some(format!("#/$defs/{name}"))
        };
        let hidden = if way == Way::Sent { "readOnly" } else { "writeOnly" };
        let part = Part {
            bare_references: document.is_old,
            hidden,
            bytes: way == Way::Sent,
            reference: &mut reference,
        };
        let adopted = schema::adopt_part(schema, path, part);
        self.notes.extend(adopted.notes);
        Piece { schema: adopted.schema, refers_to }
    }

    fn shape(&mut self, pointer: &str, way: Way) -> Rc<Shape> {
        if let Some(known) = self.known.get(&(pointer.to_owned(), way)) {
            return known.clone();
        }
        let schema = self.document.root.pointer(pointer).cloned().unwrap_or_else(|| json!({}));
        let path = pointer.trim_start_matches("/components/").replace('/', " ");
        let Piece { schema, refers_to } = self.piece(&schema, &path, way);
        let shape = Rc::new(Shape { text: schema.to_string(), refers_to });
        self.known.insert((pointer.to_owned(), way), shape.clone());
        shape
    }

    /// The text of a schema and of all that it refers to; whether all of it found room.
    pub(super) fn whole(&mut self, piece: Piece, way: Way) -> (String, bool) {
        let Piece { schema, refers_to } = piece;
        let room = way.most_bytes(self.all_bytes > MAX_ALL_BYTES);
        let mut schema = match schema {
            Value::Object(members) => members,
            other => Map::from_iter([("allOf".to_owned(), json!([other]))]),
        };
        schema.remove("$defs");
        schema.remove("definitions");
        let mut text = Value::Object(schema).to_string();
        let mut bytes = text.len();
        let mut waiting: VecDeque<String> = refers_to.into();
        let mut defs: BTreeMap<String, Option<Rc<Shape>>> = BTreeMap::new();
        let mut is_whole = true;
        while let Some(pointer) = waiting.pop_front() {
            let Some(name) = self.names.get(&pointer).cloned() else { continue };
            if defs.contains_key(&name) {
                continue;
            }
            let shape = self.shape(&pointer, way);
            let own = shape.text.len().saturating_add(name.len());
            if bytes.saturating_add(own) > room {
                is_whole = false;
                defs.insert(name, None);
                continue;
            }
            bytes = bytes.saturating_add(own);
            waiting.extend(shape.refers_to.iter().cloned());
            defs.insert(name, Some(shape));
        }
        if !defs.is_empty() {
            let empty = text == "{}";
            text.pop();
            text.push_str(if empty { "\"$defs\":{" } else { ",\"$defs\":{" });
            for (i, (name, shape)) in defs.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                text.push_str(shape.as_ref().map_or("true", |shape| &shape.text));
            }
            text.push_str("}}");
        }
        self.all_bytes = self.all_bytes.saturating_add(text.len());
        (text, is_whole)
    }
}

/// Takes the values of a schema from those that are left; whether there were enough.
fn spend(schema: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    match schema {
        Value::Array(items) => items.iter().all(|one| spend(one, left)),
        Value::Object(members) => members.values().all(|one| spend(one, left)),
        _ => true,
    }
}

/// A name for what a pointer leads to: its last part, numbered where another has it.
fn fresh(pointer: &str, taken: &mut BTreeSet<String>) -> String {
    let last = pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
    let mut name: String = last
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' })
        .take(64)
        .collect();
    if name.is_empty() || name.chars().all(|c| c.is_ascii_digit()) {
        name = format!("schema{name}");
    }
    let mut own = name.clone();
    let mut number = 1_u32;
    while !taken.insert(own.clone()) {
        number = number.saturating_add(1);
        own = format!("{name}_{number}");
    }
    own
}
