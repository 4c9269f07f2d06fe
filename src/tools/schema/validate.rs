//! Holding a value against a schema.

use super::check::whole;
use super::index::{At, Index};
use super::pattern::Pattern;
use super::{Problem, member};
use crate::ledger::request::canonical;
use crate::tools::names;
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

/// Schemas tried on values within each other, references followed. A value has 100 levels at most,
/// and a step down one of them takes two or three schemas.
const MAX_DEPTH: u32 = 320;

/// Schemas tried on values in one validation: a linear one needs a few a value, and the arguments are
/// a megabyte at most.
const MAX_STEPS: u64 = 2_000_000;

/// Steps of patterns in one validation: a second at most, and far less where a pattern is not met by
/// a text that is made for it.
const MAX_MATCHING: u64 = 100_000_000;

/// Problems told at once.
const MAX_PROBLEMS: usize = 10;

/// Values, or names, told in one problem.
const MAX_TOLD: usize = 20;

/// A list longer than this is looked up in a set.
const SHORT: usize = 16;

/// Holds a value against a schema that [`super::check`] let pass; what does not fit, at most ten places.
/// `path` is what the value is called.
#[must_use]
pub fn validate(schema: &Value, value: &Value, path: &str) -> Vec<Problem> {
    let index = Index::of(schema);
    let mut validation = Validation {
        index: &index,
        scope: Vec::new(),
        steps: 0,
        matching: 0,
        spent: false,
        quiet: false,
        patterns: HashMap::new(),
        lists: HashMap::new(),
        problems: Vec::new(),
    };
    let place = Place { outer: None, step: Step::Root(path) };
    if let Some(root) = index.root() {
        validation.value(root, value, &place, 0);
    }
    let spent = validation.spent;
    let mut problems: Vec<Problem> =
        validation.problems.into_iter().map(|found| found.problem).collect();
    if spent {
        // Whatever else was found: not all was held, so nothing is known to fit.
        problems.truncate(MAX_PROBLEMS.saturating_sub(1));
        problems.push(Problem {
            path: path.to_owned(),
            what: "could not be held against its schema: it goes too deep, or takes too long"
                .to_owned(),
        });
    }
    problems
}

/// Where in the value: written down only when it is told.
struct Place<'p> {
    outer: Option<&'p Place<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root(&'p str),
    Member(&'p str),
    Item(usize),
}

impl Place<'_> {
    fn told(&self) -> String {
        let outer = self.outer.map(Place::told).unwrap_or_default();
        match self.step {
            Step::Root(name) => name.to_owned(),
            Step::Member(name) => member(&outer, name),
            Step::Item(i) => format!("{outer}[{i}]"),
        }
    }
}

/// What of a value its schemas have spoken of. Kept only where something asks for it.
#[derive(Debug, Default)]
struct Seen<'v> {
    members: HashSet<&'v str>,
    /// So many of the first items.
    first: usize,
    items: BTreeSet<usize>,
}

impl Seen<'_> {
    fn add(&mut self, other: Self) {
        self.members.extend(other.members);
        self.first = self.first.max(other.first);
        self.items.extend(other.items);
    }
}

/// Whether a value fits, and what was seen of it if it does.
type Held<'v> = (bool, Seen<'v>);

/// Whether a number keeps to a limit.
type Keeps = fn(Ordering) -> bool;

struct Validation<'a> {
    index: &'a Index<'a>,
    /// The resources that led here, the outermost first.
    scope: Vec<usize>,
    steps: u64,
    matching: u64,
    /// Whether a bound was met.
    spent: bool,
    /// Whether only the answer is wanted, not the reasons.
    quiet: bool,
    patterns: HashMap<&'a str, Option<Pattern>>,
    /// Long lists of allowed values, by their place in memory.
    lists: HashMap<*const Value, HashSet<String>>,
    problems: Vec<Found>,
}

/// A problem, and what it tells about the alternative that it was found in.
struct Found {
    problem: Problem,
    tells: Tells,
}

/// How surely a problem says that a value was meant for another alternative.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Tells {
    /// It may well have been meant for this one.
    Little,
    /// It has not the value that this one is known by.
    Another,
    /// It is of another kind; the kinds that would do.
    Kinds(Vec<String>),
}

impl<'a> Validation<'a> {
    fn problem(&mut self, place: &Place<'_>, what: impl FnOnce() -> String) -> bool {
        self.found(place, Tells::Little, what)
    }

    fn found(&mut self, place: &Place<'_>, tells: Tells, what: impl FnOnce() -> String) -> bool {
        if !self.quiet && self.problems.len() < MAX_PROBLEMS {
            let problem = Problem { path: place.told(), what: what() };
            self.problems.push(Found { problem, tells });
        }
        false
    }

    /// Whether a value fits, told to nobody.
    fn fits<'v>(
        &mut self,
        at: At<'a>,
        value: &'v Value,
        place: &Place<'_>,
        depth: u32,
    ) -> Held<'v> {
        let quiet = std::mem::replace(&mut self.quiet, true);
        let held = self.value(at, value, place, depth);
        self.quiet = quiet;
        held
    }

    /// What is wrong, told to the caller alone.
    fn reasons(&mut self, at: At<'a>, value: &Value, place: &Place<'_>, depth: u32) -> Vec<Found> {
        let outer = std::mem::take(&mut self.problems);
        self.value(at, value, place, depth);
        std::mem::replace(&mut self.problems, outer)
    }

    fn value<'v>(
        &mut self,
        at: At<'a>,
        value: &'v Value,
        place: &Place<'_>,
        depth: u32,
    ) -> Held<'v> {
        self.steps = self.steps.saturating_add(1);
        if self.spent || depth > MAX_DEPTH || self.steps > MAX_STEPS {
            // A schema that refers to itself without end, or tries far too much.
            self.spent = true;
            return (false, Seen::default());
        }
        let members = match at.schema {
            Value::Bool(false) => {
                return (self.problem(place, || "is not allowed".into()), Seen::default());
            }
            Value::Object(members) => members,
            _ => return (true, Seen::default()),
        };
        let resource = self.index.resource_of(at.schema, at.resource);
        let entered = self.scope.last() != Some(&resource);
        if entered {
            self.scope.push(resource);
        }
        let here = Here { members, resource, depth: depth.saturating_add(1) };
        let held = self.object(&here, value, place);
        if entered {
            self.scope.pop();
        }
        held
    }

    fn object<'v>(&mut self, here: &Here<'a>, value: &'v Value, place: &Place<'_>) -> Held<'v> {
        let mut seen = Seen::default();
        if let Some(kinds) = here.get("type")
            && !self.kind(kinds, value, place)
        {
            return (false, seen);
        }
        let mut fits = self.listed(here, value, place);
        let mut targets = Vec::new();
        if let Some(to) = here.text("$ref") {
            targets.push(self.index.resolve(here.resource, to));
        }
        if let Some(to) = here.text("$dynamicRef") {
            targets.push(self.index.resolve_dynamic(here.resource, to, &self.scope));
        }
        for target in targets {
            match target {
                Some(target) => fits &= self.also(target, value, place, here.depth, &mut seen),
                None => {
                    fits = self.problem(place, || "has a schema that leads nowhere".into());
                }
            }
        }
        fits &= self.combined(here, value, place, &mut seen);
        fits &= match value {
            Value::Number(number) => self.number(here, number, place),
            Value::String(text) => self.text(here, text, place),
            Value::Array(items) => self.items(here, items, place, &mut seen),
            Value::Object(own) => self.members(here, value, own, place, &mut seen),
            Value::Null | Value::Bool(_) => true,
        };
        (fits, seen)
    }

    /// Holds a value against one schema more; what that one saw is seen.
    fn also<'v>(
        &mut self,
        at: At<'a>,
        value: &'v Value,
        place: &Place<'_>,
        depth: u32,
        seen: &mut Seen<'v>,
    ) -> bool {
        let (fits, more) = self.value(at, value, place, depth);
        if fits {
            seen.add(more);
        }
        fits
    }

    fn kind(&mut self, kinds: &Value, value: &Value, place: &Place<'_>) -> bool {
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
        let kinds = kinds.as_array().map_or(std::slice::from_ref(kinds), Vec::as_slice);
        if kinds.iter().any(is) {
            return true;
        }
        if self.quiet {
            return false;
        }
        let words: Vec<String> =
            kinds.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let what = kind_wanted(&words, value);
        self.found(place, Tells::Kinds(words), || what)
    }

    /// `enum` and `const`.
    fn listed(&mut self, here: &Here<'a>, value: &Value, place: &Place<'_>) -> bool {
        let mut fits = true;
        if let Some(list @ Value::Array(allowed)) = here.get("enum") {
            let found = if allowed.len() > SHORT {
                let set = self
                    .lists
                    .entry(std::ptr::from_ref(list))
                    .or_insert_with(|| allowed.iter().map(canonical).collect());
                set.contains(&canonical(value))
            } else {
                allowed.iter().any(|one| same(one, value))
            };
            fits &= found
                || self.found(place, Tells::Another, || {
                    let near = value
                        .as_str()
                        .and_then(|text| nearest(text, allowed.iter().filter_map(Value::as_str)));
                    let words: Vec<String> = allowed.iter().take(MAX_TOLD).map(short).collect();
                    let more = allowed.len().saturating_sub(MAX_TOLD);
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    let hint = near.map(|near| format!("; did you mean \"{near}\"?"));
                    format!("must be one of {}{more}{}", words.join(", "), hint.unwrap_or_default())
                });
        }
        if let Some(only) = here.get("const")
            && !same(only, value)
        {
            fits = self.found(place, Tells::Another, || format!("must be {}", short(only)));
        }
        fits
    }

    fn combined<'v>(
        &mut self,
        here: &Here<'a>,
        value: &'v Value,
        place: &Place<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let mut fits = true;
        for one in here.list("allOf") {
            fits &= self.also(here.at(one), value, place, here.depth, seen);
        }
        let some = here.list("anyOf");
        if !some.is_empty() {
            let mut any = false;
            for one in some {
                let (fitting, more) = self.fits(here.at(one), value, place, here.depth);
                if fitting {
                    any = true;
                    seen.add(more);
                    if !self.index.tracks {
                        break;
                    }
                }
            }
            fits &= any || self.none(here, some, value, place);
        }
        let some = here.list("oneOf");
        if !some.is_empty() {
            let mut fitting = Vec::new();
            for (i, one) in some.iter().enumerate() {
                let (fits, more) = self.fits(here.at(one), value, place, here.depth);
                if fits {
                    fitting.push(i);
                    seen.add(more);
                }
            }
            fits &= match fitting.as_slice() {
                [_] => true,
                [] => self.none(here, some, value, place),
                several => self.problem(place, || {
                    let titles: Vec<String> = several
                        .iter()
                        .take(MAX_TOLD)
                        .map(|i| {
                            let title = some.get(*i).and_then(|one| one.get("title"));
                            let title = title.and_then(Value::as_str).map(str::to_owned);
                            title.unwrap_or_else(|| format!("number {}", i.saturating_add(1)))
                        })
                        .collect();
                    format!(
                        "must fit exactly one of {} alternatives; it fits {}: {}",
                        some.len(),
                        several.len(),
                        titles.join(", ")
                    )
                }),
            };
        }
        if let Some(not) = here.get("not") {
            let (fitting, _) = self.fits(here.at(not), value, place, here.depth);
            if fitting {
                fits = self.problem(place, || match not.get("required") {
                    Some(names) => format!("must not have {names} together"),
                    None => "must not fit the schema under not".to_owned(),
                });
            }
        }
        if let Some(condition) = here.get("if") {
            let (fitting, more) = self.fits(here.at(condition), value, place, here.depth);
            if fitting {
                seen.add(more);
            }
            if let Some(branch) = here.get(if fitting { "then" } else { "else" }) {
                fits &= self.also(here.at(branch), value, place, here.depth, seen);
            }
        }
        fits
    }

    /// A value that fits none of several schemas: told is what is wrong with the nearest of them.
    fn none(
        &mut self,
        here: &Here<'a>,
        some: &'a [Value],
        value: &Value,
        place: &Place<'_>,
    ) -> bool {
        if self.quiet {
            return false;
        }
        let own = place.told();
        let mut nearest: Option<((bool, usize), Vec<Found>)> = None;
        let mut kinds: Vec<String> = Vec::new();
        for one in some {
            let found = self.reasons(here.at(one), value, place, here.depth);
            if let Some(Found { problem, tells: Tells::Kinds(others) }) = found.first()
                && problem.path == own
            {
                kinds.extend(
                    others.iter().filter(|kind| !kinds.contains(kind)).cloned().collect::<Vec<_>>(),
                );
                continue;
            }
            let another = found.iter().any(|found| found.tells == Tells::Another);
            let rank = (another, found.len());
            if nearest.as_ref().is_none_or(|(best, _)| rank < *best) {
                nearest = Some((rank, found));
            }
        }
        let room = MAX_PROBLEMS.saturating_sub(self.problems.len());
        let Some((_, mut found)) = nearest else {
            let what = kind_wanted(&kinds, value);
            return self.found(place, Tells::Kinds(kinds), || what);
        };
        if some.len() > 1 {
            for Found { problem, .. } in &mut found {
                let _ = write!(problem.what, " (the nearest of {} alternatives)", some.len());
            }
        }
        self.problems.extend(found.into_iter().take(room));
        false
    }

    fn number(&mut self, here: &Here<'a>, number: &Number, place: &Place<'_>) -> bool {
        let mut fits = true;
        let rules: [(&str, Keeps, &str); 4] = [
            ("minimum", Ordering::is_ge, "must be at least"),
            ("maximum", Ordering::is_le, "must be at most"),
            ("exclusiveMinimum", Ordering::is_gt, "must be above"),
            ("exclusiveMaximum", Ordering::is_lt, "must be below"),
        ];
        for (name, keeps, words) in rules {
            if let Some(Value::Number(of)) = here.get(name)
                && !compare(number, of).is_some_and(keeps)
            {
                fits = self.problem(place, || format!("{words} {of}, not {number}"));
            }
        }
        if let Some(Value::Number(of)) = here.get("multipleOf")
            && !is_multiple(number, of)
        {
            fits = self.problem(place, || format!("must be a multiple of {of}, not {number}"));
        }
        fits
    }

    fn text(&mut self, here: &Here<'a>, text: &str, place: &Place<'_>) -> bool {
        let mut fits = true;
        if here.get("minLength").is_some() || here.get("maxLength").is_some() {
            fits &= self.count(here, "Length", text.chars().count(), "characters", place);
        }
        if let Some(pattern) = here.text("pattern")
            && !self.matches(pattern, text)
        {
            fits = self.problem(place, || format!("must match {pattern}"));
        }
        fits
    }

    /// Whether a text matches; a pattern that is none matches everything.
    fn matches(&mut self, pattern: &'a str, text: &str) -> bool {
        let read = self.patterns.entry(pattern).or_insert_with(|| Pattern::read(pattern).ok());
        let Some(read) = read else { return true };
        self.matching = self.matching.saturating_add(read.cost(text));
        if self.matching > MAX_MATCHING {
            self.spent = true;
            return false;
        }
        read.matches(text)
    }

    fn count(
        &mut self,
        here: &Here<'a>,
        of: &str,
        count: usize,
        unit: &str,
        place: &Place<'_>,
    ) -> bool {
        let mut fits = true;
        let limit = |bound: &str| here.get(&format!("{bound}{of}")).and_then(whole);
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        if let Some(least) = limit("min")
            && count < least
        {
            fits =
                self.problem(place, || format!("must have at least {least} {unit}, not {count}"));
        }
        if let Some(most) = limit("max")
            && count > most
        {
            fits = self.problem(place, || format!("must have at most {most} {unit}, not {count}"));
        }
        fits
    }

    fn items<'v>(
        &mut self,
        here: &Here<'a>,
        items: &'v [Value],
        place: &Place<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let mut fits = self.count(here, "Items", items.len(), "items", place);
        let first = here.list("prefixItems");
        let rest = here.get("items");
        for (i, item) in items.iter().enumerate() {
            let Some(own) = first.get(i).or(rest) else { break };
            let at = Place { outer: Some(place), step: Step::Item(i) };
            fits &= self.value(here.at(own), item, &at, here.depth).0;
        }
        seen.first = seen.first.max(if rest.is_some() { items.len() } else { first.len() });
        if here.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut told = HashSet::new();
            if let Some(i) = items.iter().position(|item| !told.insert(canonical(item))) {
                let at = Place { outer: Some(place), step: Step::Item(i) };
                fits = self.problem(&at, || "is there twice".into());
            }
        }
        if let Some(wanted) = here.get("contains") {
            let mut found = 0_u64;
            for (i, item) in items.iter().enumerate() {
                if self.fits(here.at(wanted), item, place, here.depth).0 {
                    found = found.saturating_add(1);
                    if self.index.tracks {
                        seen.items.insert(i);
                    }
                }
            }
            let least = here.get("minContains").and_then(whole).unwrap_or(1);
            let most = here.get("maxContains").and_then(whole);
            if found < least {
                fits = self.problem(place, || {
                    format!("has {found} items that fit contains; at least {least} must")
                });
            } else if let Some(most) = most.filter(|most| found > *most) {
                fits = self.problem(place, || {
                    format!("has {found} items that fit contains; at most {most} may")
                });
            }
        }
        if let Some(rest) = here.get("unevaluatedItems") {
            for (i, item) in items.iter().enumerate().skip(seen.first) {
                if !seen.items.contains(&i) {
                    let at = Place { outer: Some(place), step: Step::Item(i) };
                    fits &= self.value(here.at(rest), item, &at, here.depth).0;
                }
            }
            seen.first = items.len();
        }
        fits
    }

    fn members<'v>(
        &mut self,
        here: &Here<'a>,
        value: &'v Value,
        own: &'v Map<String, Value>,
        place: &Place<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let mut fits = self.count(here, "Properties", own.len(), "members", place);
        let required = here.list("required");
        self.steps = self.steps.saturating_add(u64::try_from(required.len() / 16).unwrap_or(0));
        for name in required.iter().filter_map(Value::as_str) {
            if !own.contains_key(name) {
                let at = Place { outer: Some(place), step: Step::Member(name) };
                fits = self.problem(&at, || "is required".into());
            }
        }
        for (name, others) in here.named("dependentRequired") {
            let others = others.as_array().map(Vec::as_slice).unwrap_or_default();
            for other in others.iter().filter_map(Value::as_str) {
                if own.contains_key(name) && !own.contains_key(other) {
                    let at = Place { outer: Some(place), step: Step::Member(other) };
                    fits = self.problem(&at, || format!("is required with {name}"));
                }
            }
        }
        for (name, other) in here.named("dependentSchemas") {
            if own.contains_key(name) {
                fits &= self.also(here.at(other), value, place, here.depth, seen);
            }
        }
        let known_ones = here.get("properties").and_then(Value::as_object);
        let others = here.get("additionalProperties");
        let rest = here.get("unevaluatedProperties");
        for (name, value) in own {
            let at = Place { outer: Some(place), step: Step::Member(name) };
            let mut known = false;
            if let Some(schema) = known_ones.and_then(|members| members.get(name)) {
                known = true;
                fits &= self.value(here.at(schema), value, &at, here.depth).0;
            }
            for (pattern, schema) in here.named("patternProperties") {
                if self.matches(pattern, name) {
                    known = true;
                    fits &= self.value(here.at(schema), value, &at, here.depth).0;
                }
            }
            if let Some(others) = others.filter(|_| !known) {
                known = true;
                fits &= if others == &Value::Bool(false) {
                    self.unknown(known_ones, own, name, &at)
                } else {
                    self.value(here.at(others), value, &at, here.depth).0
                };
            }
            if known && self.index.tracks {
                seen.members.insert(name);
            }
            if let Some(names) = here.get("propertyNames") {
                let name = Value::from(name.as_str());
                if !self.fits(here.at(names), &name, &at, here.depth).0 {
                    fits = self.problem(&at, || "has a name that does not fit".into());
                }
            }
        }
        if let Some(rest) = rest {
            for (name, value) in own {
                if seen.members.insert(name) {
                    let at = Place { outer: Some(place), step: Step::Member(name) };
                    fits &= if rest == &Value::Bool(false) {
                        self.unknown(known_ones, own, name, &at)
                    } else {
                        self.value(here.at(rest), value, &at, here.depth).0
                    };
                }
            }
        }
        fits
    }

    /// A member that nothing allows.
    fn unknown(
        &mut self,
        known: Option<&'a Map<String, Value>>,
        own: &Map<String, Value>,
        name: &str,
        at: &Place<'_>,
    ) -> bool {
        self.problem(at, || {
            let free: Vec<&str> = known
                .into_iter()
                .flat_map(Map::keys)
                .map(String::as_str)
                .filter(|name| !own.contains_key(*name))
                .collect();
            if let Some(near) = nearest(name, free.iter().copied()) {
                return format!("is not a known member; did you mean {near}?");
            }
            if free.is_empty() || free.len() > MAX_TOLD {
                return "is not a known member".to_owned();
            }
            format!("is not a known member; those left are {}", free.join(", "))
        })
    }
}

/// A schema that is an object, and where it stands.
struct Here<'a> {
    members: &'a Map<String, Value>,
    resource: usize,
    /// Of the schemas in it.
    depth: u32,
}

impl<'a> Here<'a> {
    fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.members.get(keyword)
    }

    fn text(&self, keyword: &str) -> Option<&'a str> {
        self.get(keyword).and_then(Value::as_str)
    }

    fn list(&self, keyword: &str) -> &'a [Value] {
        self.get(keyword).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn named(&self, keyword: &str) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        let named = self.get(keyword).and_then(Value::as_object);
        named.into_iter().flatten().map(|(name, one)| (name.as_str(), one))
    }

    fn at(&self, schema: &'a Value) -> At<'a> {
        At { schema, resource: self.resource }
    }
}

/// `must be a string or null, not a number`.
fn kind_wanted(kinds: &[String], value: &Value) -> String {
    let vowel = kinds.first().is_some_and(|word| word.starts_with(['a', 'i', 'o']));
    let article = if vowel { "an" } else { "a" };
    format!("must be {article} {}, not {}", kinds.join(" or "), kind_of(value))
}

/// The name that was most likely meant.
fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    names::nearest(name, known.take(200), 1).pop()
}

/// A value as a message shows it.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(64) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Two numbers in order, whole ones to the last digit.
fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn is_multiple(number: &Number, of: &Number) -> bool {
    if let (Some(number), Some(of)) = (integer(number), integer(of)) {
        return number.checked_rem(of) == Some(0);
    }
    let (Some(number), Some(of)) = (number.as_f64(), of.as_f64()) else { return false };
    let times = number / of;
    if !times.is_finite() {
        return number % of == 0.0;
    }
    // 0.3 is a multiple of 0.1, whatever the last bit says.
    (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0)
}

/// Whether two values are the same: `1.0` is `1`, and the order of members means nothing.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
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
