//! A schema becomes tools: a field of the query and of the mutation type is one, with what is selected of
//! it where nobody selects.

use super::inputs::Inputs;
use super::plan::Plan;
use super::shapes::{enumeration, scalar, wrapped};
use super::told::{Field, Input, Reference, Told, Type};
use super::{cut, is_name, is_type, operation};
use crate::tools::import::{self, Hints, Imported, LeftOut, Listed, Unreadable};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Tools of one schema at most.
const MAX_TOOLS: usize = 5_000;

/// Leaves, and objects that hold them, that are selected where nobody selects.
const MAX_LEAVES: usize = 80;

/// Levels of objects that are selected below a field's own leaves, where nobody selects.
const MAX_LEVELS: usize = 1;

/// Reads what a service answered to [`super::introspection`].
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
