//! Where references of a schema lead: its resources, their anchors. Never outside the schema.

use serde_json::Value;
use std::collections::HashMap;
use url::Url;

use super::MAX_NESTING;

/// A base for identifiers that are relative to nothing.
const NOWHERE: &str = "schema:///";

/// A schema, and the resource that it stands in.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) schema: &'a Value,
    pub(super) resource: usize,
}

/// A part of a schema with an identifier of its own; the first is the whole.
#[derive(Debug)]
struct Resource<'a> {
    base: Option<Url>,
    root: &'a Value,
    anchors: HashMap<&'a str, At<'a>>,
    dynamic: HashMap<&'a str, At<'a>>,
}

/// All resources of a schema.
#[derive(Debug)]
pub(super) struct Index<'a> {
    resources: Vec<Resource<'a>>,
    by_uri: HashMap<String, usize>,
    by_schema: HashMap<*const Value, usize>,
    /// Whether something in it asks what others have evaluated.
    pub(super) tracks: bool,
}

/// What stands under a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// A schema.
    One,
    /// A list of schemas.
    List,
    /// Schemas by name.
    Named,
    /// No schema.
    Other,
}

/// What stands under a keyword of 2020-12.
pub(super) fn holds(keyword: &str) -> Holds {
    match keyword {
        "additionalProperties"
        | "propertyNames"
        | "items"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => Holds::One,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::List,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            Holds::Named
        }
        _ => Holds::Other,
    }
}

impl<'a> Index<'a> {
    pub(super) fn of(root: &'a Value) -> Self {
        let mut index = Self {
            resources: Vec::new(),
            by_uri: HashMap::new(),
            by_schema: HashMap::new(),
            tracks: false,
        };
        let base = Url::parse(NOWHERE).ok();
        index.enter(root, base);
        index.walk(root, 0, 0);
        index
    }

    fn enter(&mut self, root: &'a Value, base: Option<Url>) -> usize {
        let own = root.get("$id").and_then(Value::as_str);
        let base = match (own, base) {
            (Some(id), Some(base)) => base.join(id).ok(),
            (Some(id), None) => Url::parse(id).ok(),
            (None, base) => base,
        };
        let number = self.resources.len();
        if let Some(base) = &base {
            self.by_uri.entry(uri(base)).or_insert(number);
        }
        self.by_schema.insert(std::ptr::from_ref(root), number);
        self.resources.push(Resource {
            base,
            root,
            anchors: HashMap::new(),
            dynamic: HashMap::new(),
        });
        number
    }

    fn walk(&mut self, schema: &'a Value, resource: usize, depth: usize) {
        let Some(members) = schema.as_object().filter(|_| depth <= MAX_NESTING) else { return };
        let resource = match members.get("$id") {
            Some(Value::String(_)) if depth > 0 => {
                let base = self.resources.get(resource).and_then(|of| of.base.clone());
                self.enter(schema, base)
            }
            _ => resource,
        };
        if let Some(own) = self.resources.get_mut(resource) {
            let at = At { schema, resource };
            let name = |keyword: &str| members.get(keyword).and_then(Value::as_str);
            if let Some(anchor) = name("$anchor") {
                own.anchors.entry(anchor).or_insert(at);
            }
            if let Some(anchor) = name("$dynamicAnchor") {
                own.anchors.entry(anchor).or_insert(at);
                own.dynamic.entry(anchor).or_insert(at);
            }
        }
        let deeper = depth.saturating_add(1);
        for (keyword, value) in members {
            self.tracks |= keyword == "unevaluatedProperties" || keyword == "unevaluatedItems";
            match (holds(keyword), value) {
                (Holds::One, one) => self.walk(one, resource, deeper),
                (Holds::List, Value::Array(list)) => {
                    for one in list {
                        self.walk(one, resource, deeper);
                    }
                }
                (Holds::Named, Value::Object(named)) => {
                    for one in named.values() {
                        self.walk(one, resource, deeper);
                    }
                }
                _ => {}
            }
        }
    }

    /// The whole.
    pub(super) fn root(&self) -> Option<At<'a>> {
        self.resources.first().map(|first| At { schema: first.root, resource: 0 })
    }

    /// The resource of a schema that stands in `outer`.
    pub(super) fn resource_of(&self, schema: &Value, outer: usize) -> usize {
        if schema.get("$id").is_none() {
            return outer;
        }
        self.by_schema.get(&std::ptr::from_ref(schema)).copied().unwrap_or(outer)
    }

    /// The schema that a reference in `from` leads to, if it is in here.
    pub(super) fn resolve(&self, from: usize, reference: &str) -> Option<At<'a>> {
        let (target, fragment) = match reference.split_once('#') {
            Some((target, fragment)) => (target, fragment),
            None => (reference, ""),
        };
        let resource = if target.is_empty() {
            from
        } else {
            let base = self.resources.get(from).and_then(|of| of.base.as_ref());
            let to = match base {
                Some(base) => base.join(target).ok()?,
                None => Url::parse(target).ok()?,
            };
            *self.by_uri.get(&uri(&to))?
        };
        let fragment = decoded(fragment)?;
        let own = self.resources.get(resource)?;
        let found = if fragment.is_empty() {
            At { schema: own.root, resource }
        } else if fragment.starts_with('/') {
            self.pointed(own.root, resource, &fragment)?
        } else {
            *own.anchors.get(fragment.as_str())?
        };
        (found.schema.is_object() || found.schema.is_boolean()).then_some(found)
    }

    fn pointed(&self, root: &'a Value, resource: usize, pointer: &str) -> Option<At<'a>> {
        let mut at = At { schema: root, resource };
        for part in pointer.split('/').skip(1) {
            let part = part.replace("~1", "/").replace("~0", "~");
            let schema = match at.schema {
                Value::Object(members) => members.get(&part)?,
                Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
                _ => return None,
            };
            at = At { schema, resource: self.resource_of(schema, at.resource) };
        }
        Some(at)
    }

    /// The schema that a dynamic reference leads to, asked from the outermost resource of `scope` in.
    pub(super) fn resolve_dynamic(
        &self,
        from: usize,
        reference: &str,
        scope: &[usize],
    ) -> Option<At<'a>> {
        let first = self.resolve(from, reference)?;
        let anchor = reference.split_once('#').map(|(_, anchor)| anchor).unwrap_or_default();
        let dynamic = |resource: usize| {
            self.resources.get(resource).and_then(|of| of.dynamic.get(anchor)).copied()
        };
        if dynamic(first.resource).is_none() {
            return Some(first);
        }
        scope.iter().find_map(|resource| dynamic(*resource)).or(Some(first))
    }
}

fn uri(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    url.into()
}

/// A fragment with its percent signs read.
fn decoded(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%'
            && let Some(byte) = after.get(..2).and_then(|two| std::str::from_utf8(two).ok())
            && let Ok(byte) = u8::from_str_radix(byte, 16)
        {
            bytes.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}
