//! Paths of a source's tools: `source.group.tool`, each made once from the names upstream. Pure.
//!
//! The rules.
//!
//! - A part is an identifier: what cannot stand in one parts words, and words are joined in camel
//!   case (`list-for-org` is `listForOrg`); an underscore is no separator, so names that already
//!   are identifiers stay as they are. A digit in front gets `_`, and so does, behind it, a part
//!   that a program cannot write as a call (`then_`). Words of the language stay: after a dot they
//!   are names like all others.
//! - A name that repeats its group does without: `repos/get` in `repos` is `repos.get`.
//! - A path once given stays with its tool, whatever the source does later, and is never given to
//!   another: a saved program, or a policy, means the tool that it meant when it was written.
//! - Of tools that want one path, the one whose name had to be changed least gets it, then the one
//!   whose key comes first; the others get `_2`, `_3` and so on, in that order. The order in which a
//!   source lists its tools means nothing.

use super::import::Listed;
use super::names;
use oxc_syntax::identifier::{is_identifier_part, is_identifier_start};
use std::collections::{BTreeMap, BTreeSet};

/// Characters of one part at most; a longer one is cut.
const MAX_PART_CHARS: usize = 64;

/// Characters of a source's name at most.
const MAX_SOURCE_CHARS: usize = 32;

/// First parts of paths that are ours, and names that a program has beside `tools`.
const RESERVED_SOURCES: &[&str] = &[
    "approvals",
    "describe",
    "emit",
    "holdfast",
    "http",
    "packages",
    "params",
    "policies",
    "run",
    "runs",
    "schedules",
    "search",
    "secrets",
    "service",
    "services",
    "sleep",
    "sources",
    "step",
    "storage",
    "tokens",
    "tools",
    "workflows",
];

/// What a tool is called upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upstream<'a> {
    /// What the source knows it by.
    pub key: &'a str,
    /// What it stands under.
    pub group: Option<&'a str>,
    /// Its name.
    pub name: &'a str,
}

impl<'a> From<&'a Listed> for Upstream<'a> {
    fn from(listed: &'a Listed) -> Self {
        Self { key: &listed.key, group: listed.group.as_deref(), name: &listed.name }
    }
}

/// Whether a source may have the name.
///
/// # Errors
///
/// What is wrong with it, as words that follow the name, and what would do.
pub fn check_source(name: &str) -> Result<(), String> {
    if !is_plain(name) {
        let own = identifier(name);
        let own = own.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_');
        let mut near: String =
            own.skip_while(|c| !c.is_ascii_alphabetic()).take(MAX_SOURCE_CHARS).collect();
        if let Some(first) = near.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        let does = is_plain(&near) && !is_ours(&near);
        let hint = if does { format!("; {near} would do") } else { String::new() };
        return Err(format!(
            "must be of ASCII letters, digits and _, begin with a small letter, and have at most \
             {MAX_SOURCE_CHARS} characters{hint}"
        ));
    }
    if is_ours(name) {
        return Err(format!("is a name of Holdfast's own; {name}_api would do"));
    }
    Ok(())
}

fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.len() <= MAX_SOURCE_CHARS
}

fn is_ours(name: &str) -> bool {
    RESERVED_SOURCES.contains(&name) || !names::is_allowed(name)
}

/// A path for each tool, in the order of `tools`, whose keys must differ.
///
/// `earlier` has the path of every key that ever had one, also of those that the source no longer
/// lists.
#[must_use]
pub fn assign(
    source: &str,
    tools: &[Upstream<'_>],
    earlier: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut taken: BTreeSet<String> = earlier.values().cloned().collect();
    let mut order: Vec<(bool, &str, usize, String)> = tools
        .iter()
        .enumerate()
        .filter(|(_, tool)| !earlier.contains_key(tool.key))
        .map(|(place, tool)| {
            let (wanted, changed) = wanted(source, *tool);
            (changed, tool.key, place, wanted)
        })
        .collect();
    order.sort_unstable();
    let mut fresh: BTreeMap<usize, String> = BTreeMap::new();
    // Where the numbers of a path go on, so that ten thousand equal names are no square.
    let mut last: BTreeMap<String, u32> = BTreeMap::new();
    for (_, _, place, wanted) in order {
        let path = free(wanted, &taken, &mut last);
        taken.insert(path.clone());
        fresh.insert(place, path);
    }
    let path_of = |(place, tool): (usize, &Upstream<'_>)| {
        let kept = || earlier.get(tool.key).cloned();
        fresh.remove(&place).or_else(kept).unwrap_or_default()
    };
    tools.iter().enumerate().map(path_of).collect()
}

fn free(wanted: String, taken: &BTreeSet<String>, last: &mut BTreeMap<String, u32>) -> String {
    if !taken.contains(&wanted) {
        return wanted;
    }
    let number = last.entry(wanted.clone()).or_insert(1);
    loop {
        *number = number.saturating_add(1);
        let path = format!("{wanted}_{number}");
        if !taken.contains(&path) {
            return path;
        }
    }
}

/// The path that a tool would have if it were alone, and whether its name had to be changed for it.
fn wanted(source: &str, tool: Upstream<'_>) -> (String, bool) {
    let group = tool.group.map(part).filter(|group| !group.is_empty());
    let name = tool.group.and_then(|group| without(tool.name, group)).unwrap_or(tool.name);
    let own = Some(part(name)).filter(|own| !own.is_empty()).unwrap_or_else(|| "tool".to_owned());
    let changed = own != tool.name;
    let path = match group {
        Some(group) => format!("{source}.{group}.{own}"),
        None => format!("{source}.{own}"),
    };
    (path, changed)
}

/// A name without the group that it repeats: `get` of `repos/get`, and of `repos_get`.
fn without<'a>(name: &'a str, group: &str) -> Option<&'a str> {
    let rest = name.get(group.len()..)?;
    let repeats = name.get(..group.len())?.eq_ignore_ascii_case(group);
    let own = rest.trim_start_matches(|c: char| c == '_' || !is_part(c));
    (repeats && own.len() < rest.len() && !own.is_empty() && own.starts_with(is_start))
        .then_some(own)
}

/// A part of a path; empty where nothing of the text can stand in one.
fn part(text: &str) -> String {
    let mut part = identifier(text);
    if !part.is_empty() && !names::is_allowed(&part) {
        part.push('_');
    }
    part
}

/// The identifier that is nearest to a text, in camel case; empty where none is near.
#[must_use]
pub fn identifier(text: &str) -> String {
    let mut out = String::new();
    for word in text.split(|c| !is_part(c)).filter(|word| !word.is_empty()) {
        if out.is_empty() {
            if !word.starts_with(is_start) {
                out.push('_');
            }
            out.push_str(word);
        } else {
            let mut letters = word.chars();
            out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            out.push_str(letters.as_str());
        }
    }
    match out.char_indices().nth(MAX_PART_CHARS) {
        Some((end, _)) => out.get(..end).unwrap_or_default().to_owned(),
        None => out,
    }
}

fn is_start(c: char) -> bool {
    is_identifier_start(c)
}

/// The two joiners may stand in an identifier, and nobody sees them.
fn is_part(c: char) -> bool {
    is_identifier_part(c) && !matches!(c, '\u{200c}' | '\u{200d}')
}

#[cfg(test)]
mod tests {
    //! Paths are unique, callable, and stay.

    use super::*;
    use oxc_allocator::Allocator;
    use oxc_parser::Parser;
    use oxc_span::SourceType;
    use proptest::prelude::*;

    fn named<'a>(key: &'a str, group: Option<&'a str>, name: &'a str) -> Upstream<'a> {
        Upstream { key, group, name }
    }

    fn alone(group: Option<&str>, name: &str) -> String {
        assign("s", &[named("k", group, name)], &BTreeMap::new()).remove(0)
    }

    /// Whether a program can call it, written as it is.
    fn is_callable(path: &str) -> bool {
        let allocator = Allocator::default();
        let text = format!("await tools.{path}({{}});");
        let parsed = Parser::new(&allocator, &text, SourceType::mjs()).parse();
        parsed.diagnostics.is_empty() && !parsed.panicked && names::is_allowed(path)
    }

    #[test]
    fn a_name_becomes_the_nearest_identifier() {
        let cases = [
            (None, "list_issues", "s.list_issues"),
            (None, "list-for-org", "s.listForOrg"),
            (None, "get /pets/{petId}", "s.getPetsPetId"),
            (Some("repos"), "repos/list-for-org", "s.repos.listForOrg"),
            (Some("Pets"), "pets_get", "s.Pets.get"),
            (Some("pet"), "pets", "s.pet.pets"),
            (Some("pet"), "pet", "s.pet.pet"),
            (Some("pet"), "pet/2", "s.pet.pet2"),
            (Some("Pet Store API"), "add", "s.PetStoreAPI.add"),
            (Some("?!"), "add", "s.add"),
            (None, "2fa", "s._2fa"),
            (None, "delete", "s.delete"),
            (None, "then", "s.then_"),
            (Some("constructor"), "toJSON", "s.constructor_.toJSON_"),
            (None, "__proto__", "s.__proto___"),
            (None, "naïve café", "s.naïveCafé"),
            (None, "名前を取得", "s.名前を取得"),
            (None, "a\u{200d}b", "s.aB"),
            (None, "a.b", "s.aB"),
            (None, "", "s.tool"),
            (None, "🙂", "s.tool"),
        ];
        for (group, name, expected) in cases {
            assert_eq!(alone(group, name), expected, "{group:?} {name}");
            assert!(is_callable(expected), "{expected}");
        }
        assert_eq!(alone(None, &"x".repeat(500)).len(), 2 + MAX_PART_CHARS);
    }

    #[test]
    fn every_word_of_the_language_is_callable() {
        for word in
            "await break case catch class const continue debugger default delete do else enum \
            export extends false finally for function if implements import in instanceof interface \
            let new null package private protected public return static super switch this throw \
            true try typeof undefined var void while with yield async of get set arguments eval"
                .split_whitespace()
        {
            let path = alone(Some(word), word);
            assert!(is_callable(&path), "{path}");
        }
    }

    #[test]
    fn tools_that_want_one_path_are_numbered_by_their_keys() {
        let mut tools = [named("b", None, "a-b"), named("c", None, "aB"), named("a", None, "a b")];
        let paths = |tools: &[Upstream<'_>]| -> BTreeMap<String, String> {
            let paths = assign("s", tools, &BTreeMap::new());
            tools.iter().map(|tool| tool.key.to_owned()).zip(paths).collect()
        };
        let first = paths(&tools);
        let told: Vec<&str> = first.values().map(String::as_str).collect();
        assert_eq!(told, ["s.aB_2", "s.aB_3", "s.aB"]);
        tools.reverse();
        assert_eq!(paths(&tools), first);
    }

    #[test]
    fn a_path_is_not_given_to_another_tool() {
        let earlier = BTreeMap::from([
            ("gone".to_owned(), "s.get".to_owned()),
            ("renamed".to_owned(), "s.old".to_owned()),
        ]);
        let tools = [named("new", None, "get"), named("renamed", Some("group"), "other")];
        assert_eq!(assign("s", &tools, &earlier), ["s.get_2", "s.old"]);
    }

    #[test]
    fn a_number_does_not_meet_a_name() {
        let tools = [named("a", None, "x"), named("b", None, "x-"), named("c", None, "x_2")];
        assert_eq!(assign("s", &tools, &BTreeMap::new()), ["s.x", "s.x_3", "s.x_2"]);
    }

    #[test]
    fn a_source_has_a_plain_name_of_its_own() {
        for name in ["github", "a1", "my_api", "deleteThings"] {
            assert_eq!(check_source(name), Ok(()), "{name}");
        }
        let cases = [
            ("search", "search_api would do"),
            ("storage", "storage_api would do"),
            ("then", "then_api would do"),
            ("My-API", "; myAPI would do"),
            ("GitHub", "; gitHub would do"),
            ("2fa", "; fa would do"),
            ("", "at most 32 characters"),
            ("é", "at most 32 characters"),
            (&"x".repeat(33), "would do"),
        ];
        for (name, hint) in cases {
            let why = check_source(name).unwrap_err();
            assert!(why.ends_with(hint), "{name}: {why}");
        }
    }

    proptest! {
        #[test]
        fn paths_are_unique_callable_and_stay(
            names in prop::collection::btree_map("\\PC{0,6}", ("\\PC{0,8}", prop::option::of("[a-c/ ]{0,3}")), 0..30),
            seed in any::<prop::sample::Index>(),
        ) {
            let all: Vec<Upstream<'_>> = names
                .iter()
                .map(|(key, (name, group))| named(key, group.as_deref(), name))
                .collect();
            let paths = assign("src", &all, &BTreeMap::new());
            prop_assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), all.len());
            for path in &paths {
                prop_assert!(is_callable(path), "{}", path);
            }
            // A part of the tools was there earlier: it keeps its paths, the rest comes to others.
            let half = seed.index(all.len().saturating_add(1));
            let before = assign("src", &all[..half], &BTreeMap::new());
            let earlier: BTreeMap<String, String> =
                all.iter().map(|tool| tool.key.to_owned()).zip(before.iter().cloned()).collect();
            let mut shuffled = all.clone();
            shuffled.reverse();
            let mut after = assign("src", &shuffled, &earlier);
            after.reverse();
            prop_assert_eq!(&after[..half], &before[..]);
            prop_assert_eq!(after.iter().collect::<BTreeSet<_>>().len(), all.len());
        }

        #[test]
        fn a_hint_for_a_source_is_one_that_does(name in "\\PC{0,40}") {
            if let Err(why) = check_source(&name)
                && let Some((rest, _)) = why.rsplit_once(" would do")
            {
                let hint = rest.rsplit([' ', ';']).next().unwrap_or_default();
                prop_assert_eq!(check_source(hint), Ok(()), "{}: {}", name, why);
            }
        }
    }
}
