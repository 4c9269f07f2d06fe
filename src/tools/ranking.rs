//! Finding tools by words: which of some candidates fits best, and what to ask the full-text index
//! for so that the right ones are among them. Pure.
//!
//! A word counts more the nearer it stands to the end of a path, less in a name's other words, least
//! in a description. A tool that has all the words comes before one that has some of them often.

use super::names;
use std::cmp::Ordering;

/// Words of a query that are looked at.
const MAX_WORDS: usize = 16;

/// Characters of a word that are looked at.
const MAX_WORD_CHARS: usize = 40;

/// Words of a description that are looked at.
const MAX_DESCRIPTION_WORDS: usize = 400;

/// Words that say nothing of a tool, where others do.
const EMPTY_WORDS: &[&str] = &[
    "a", "all", "an", "and", "any", "at", "by", "can", "do", "for", "from", "how", "i", "in",
    "into", "is", "it", "me", "my", "of", "on", "or", "our", "please", "some", "that", "the",
    "this", "to", "tool", "tools", "want", "which", "with", "you",
];

/// Words that ask for the same.
const SYNONYMS: &[&[&str]] = &[
    &["add", "create", "insert", "make", "new", "open", "post", "register"],
    &["fetch", "get", "load", "read", "retrieve", "show", "view"],
    &["all", "enumerate", "index", "list"],
    &["find", "lookup", "query", "search"],
    &["change", "edit", "modify", "patch", "put", "replace", "set", "update", "write"],
    &["cancel", "close", "delete", "destroy", "drop", "remove", "revoke"],
    &["call", "execute", "invoke", "run", "trigger"],
    &["email", "mail", "message"],
    &["repo", "repository"],
    &["document", "file"],
    &["member", "people", "person", "user"],
    &["download", "export"],
    &["import", "upload"],
];

/// A tool that may be what is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its name upstream.
    pub name: &'a str,
    /// What it does.
    pub description: &'a str,
}

/// The words of a text, in small letters: `listForOrg`, `list_for_org` and `list for org` have the
/// same.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut chars = 0_usize;
    let mut before: Option<char> = None;
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        if !c.is_alphanumeric() {
            push(&mut words, &mut word, &mut chars);
            before = None;
            continue;
        }
        let after_small = before.is_some_and(|before| before.is_lowercase() || before.is_numeric());
        // The last capital of `HTMLPage` begins a word.
        let ends_capitals = before.is_some_and(char::is_uppercase)
            && letters.peek().is_some_and(|next| next.is_lowercase());
        if c.is_uppercase() && (after_small || ends_capitals) {
            push(&mut words, &mut word, &mut chars);
        }
        if chars < MAX_WORD_CHARS {
            word.extend(c.to_lowercase());
            chars = chars.saturating_add(1);
        }
        before = Some(c);
    }
    push(&mut words, &mut word, &mut chars);
    words
}

fn push(words: &mut Vec<String>, word: &mut String, chars: &mut usize) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
    *chars = 0;
}

/// What of a text goes into the full-text index, whose own idea of a word knows no camel case.
#[must_use]
pub fn indexed(text: &str) -> String {
    words(text).join(" ")
}

/// A word without its ending: `repositories` and `repository` have one stem.
fn stem(word: &str) -> &str {
    // Every stem is a beginning of its word, so that the index can look for it as one.
    let rules: &[(&str, usize)] =
        &[("ies", 5), ("ing", 6), ("ied", 5), ("ed", 5), ("es", 5), ("s", 4), ("e", 5), ("y", 5)];
    if !word.is_ascii() || word.ends_with("ss") {
        return word;
    }
    for (ending, least) in rules {
        if word.len() >= *least
            && let Some(stem) = word.strip_suffix(ending)
        {
            return stem;
        }
    }
    word
}

/// The words of a query that say something.
fn asked(query: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in words(query) {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    let mut telling: Vec<String> =
        all.iter().filter(|word| !EMPTY_WORDS.contains(&word.as_str())).cloned().collect();
    if telling.is_empty() {
        telling = all;
    }
    telling.truncate(MAX_WORDS);
    telling
}

/// The expression for `MATCH` of FTS5 that selects whatever may fit a query; `None` where the query
/// has no words. Nothing of the query reaches the expression but letters and digits between quotes.
#[must_use]
pub fn match_expression(query: &str) -> Option<String> {
    let mut terms: Vec<String> = Vec::new();
    let mut add = |stem: &str| {
        let term = format!("\"{stem}\"*");
        if !stem.is_empty() && !terms.contains(&term) {
            terms.push(term);
        }
    };
    let asked = asked(query);
    for word in &asked {
        add(stem(word));
    }
    for word in &asked {
        for other in synonyms(word) {
            add(stem(other));
        }
    }
    (!terms.is_empty()).then(|| terms.join(" OR "))
}

fn synonyms(word: &str) -> impl Iterator<Item = &'static str> + use<'_> {
    let own = stem(word);
    SYNONYMS
        .iter()
        .filter(move |set| set.iter().any(|one| stem(one) == own))
        .flat_map(|set| set.iter().copied())
        .filter(move |one| stem(one) != own)
}

/// The candidates that fit a query, by their places in the list, the best first. A query without
/// words fits all of them, by their paths.
#[must_use]
pub fn rank(query: &str, candidates: &[Candidate<'_>]) -> Vec<usize> {
    let asked = asked(query);
    let exact = query.trim().to_lowercase();
    let exact = exact.strip_prefix("tools.").unwrap_or(&exact);
    let mut scored: Vec<(f64, usize)> = candidates
        .iter()
        .enumerate()
        .map(|(place, candidate)| (score(exact, &asked, candidate), place))
        .filter(|(score, _)| *score > 0.0 || asked.is_empty())
        .collect();
    let path = |place: usize| candidates.get(place).map_or("", |candidate| candidate.path);
    scored.sort_by(|(a, at), (b, bt)| {
        b.partial_cmp(a).unwrap_or(Ordering::Equal).then_with(|| {
            let (a, b) = (path(*at), path(*bt));
            if asked.is_empty() { a.cmp(b) } else { (a.len(), a).cmp(&(b.len(), b)) }
        })
    });
    scored.into_iter().map(|(_, place)| place).collect()
}

fn score(exact: &str, asked: &[String], candidate: &Candidate<'_>) -> f64 {
    let path = candidate.path.to_lowercase();
    if path == exact {
        return f64::MAX;
    }
    let parts: Vec<Vec<String>> = candidate.path.split('.').map(words).collect();
    let name = words(candidate.name);
    let description: Vec<String> =
        words(candidate.description).into_iter().take(MAX_DESCRIPTION_WORDS).collect();
    let first = description.get(..12).unwrap_or(&description);
    let mut sum = 0.0;
    let mut found = 0_u32;
    for word in asked {
        let mut best = 0.0_f64;
        for (i, part) in parts.iter().rev().enumerate() {
            let weight = [8.0, 5.0].get(i).copied().unwrap_or(3.0);
            best = best.max(weight * in_words(word, part, true));
        }
        best = best
            .max(6.0 * in_words(word, &name, true))
            .max(2.5 * in_words(word, first, false))
            .max(1.5 * in_words(word, &description, false));
        if best > 0.0 {
            found = found.saturating_add(1);
        }
        sum += best;
    }
    if found == 0 {
        return 0.0;
    }
    let all = f64::from(u32::try_from(asked.len()).unwrap_or(u32::MAX));
    let share = f64::from(found) / all;
    // Words of the last part that nobody asked for: `list` is nearer to "list" than `listForOrg`.
    let extra = parts.last().map_or(0, |last| {
        last.iter().filter(|own| !asked.iter().any(|word| stem(word) == stem(own))).count()
    });
    let extra = f64::from(u32::try_from(extra).unwrap_or(u32::MAX));
    let tail = if path.ends_with(&format!(".{exact}")) { 10.0 } else { 0.0 };
    sum * share * share / (1.0 + 0.05 * extra) + tail
}

/// How well a word is among some: 1 where it is there as it is.
fn in_words(word: &str, words: &[String], forgiving: bool) -> f64 {
    let own = stem(word);
    let mut best = 0.0_f64;
    for other in words {
        let fit = if other == word {
            1.0
        } else if stem(other) == own {
            0.9
        } else if own.len() >= 2 && other.starts_with(own) {
            0.7
        } else if other.len() >= 3 && word.starts_with(other.as_str()) {
            0.5
        } else if own.len() >= 4 && other.contains(own) {
            0.4
        } else if forgiving && word.len() >= 5 && near(word, other) {
            0.5
        } else {
            0.0
        };
        best = best.max(fit);
        if fit >= 1.0 {
            return best;
        }
    }
    if best < 0.5 && synonyms(word).any(|one| words.iter().any(|other| stem(other) == stem(one))) {
        best = best.max(0.45);
    }
    best
}

/// Whether two words are a slip of the pen apart.
fn near(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let longer = a.len().max(b.len());
    // One letter is other, too many or too few; or two have changed their places.
    let swapped = a.len() == b.len()
        && same.saturating_add(tail).saturating_add(2) >= longer
        && a.get(same) == b.get(same.saturating_add(1))
        && b.get(same) == a.get(same.saturating_add(1));
    same.saturating_add(tail).saturating_add(1) >= longer || swapped
}

/// At most `most` paths that somebody who wrote `path` may have meant, the likeliest first.
#[must_use]
pub fn nearest<'a>(path: &str, known: &[Candidate<'a>], most: usize) -> Vec<&'a str> {
    let mut near = names::nearest(path, known.iter().map(|one| one.path), most);
    // A source that is mistyped, or left out, and a name that is put in other words.
    for place in rank(path, known) {
        let Some(candidate) = known.get(place).filter(|_| near.len() < most) else { break };
        if !near.contains(&candidate.path) {
            near.push(candidate.path);
        }
    }
    near
}

#[cfg(test)]
mod tests {
    //! What is asked for comes first.

    use super::*;
    use proptest::prelude::*;

    const TOOLS: &[(&str, &str, &str)] = &[
        ("github.issues.create", "issues/create", "Create an issue in a repository."),
        ("github.issues.list", "issues/list", "List issues assigned to the authenticated user."),
        ("github.issues.listForRepo", "issues/list-for-repo", "List issues of a repository."),
        ("github.issues.createComment", "issues/create-comment", "Comment on an issue."),
        ("github.repos.get", "repos/get", "Get a repository."),
        ("github.repos.delete", "repos/delete", "Deleting a repository requires admin access."),
        ("github.pulls.merge", "pulls/merge", "Merge a pull request into its base branch."),
        ("stripe.refunds.post", "PostRefunds", "Returns money of a charge to the customer's card."),
        ("stripe.customers.search", "GetCustomersSearch", "Search for customers by email or name."),
        ("slack.chat.postMessage", "chat.postMessage", "Sends a message to a channel."),
        ("storage.get", "storage.get", "The value under a key."),
        ("http.fetch", "http.fetch", "Makes a request over HTTP."),
    ];

    fn candidates() -> Vec<Candidate<'static>> {
        TOOLS
            .iter()
            .map(|(path, name, description)| Candidate { path, name, description })
            .collect()
    }

    fn first(query: &str) -> &'static str {
        rank(query, &candidates()).first().map_or("", |place| TOOLS[*place].0)
    }

    #[test]
    fn a_text_has_the_words_that_a_reader_sees() {
        let cases = [
            ("listForOrg", "list for org"),
            ("list_for-org", "list for org"),
            ("HTMLPage2Go", "html page2 go"),
            ("PostV1Refunds", "post v1 refunds"),
            ("getURL", "get url"),
            ("Größe ändern", "größe ändern"),
            ("名前を取得", "名前を取得"),
            ("--", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(indexed(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_asked_for_comes_first() {
        for (query, expected) in [
            ("create issue", "github.issues.create"),
            ("open a new issue", "github.issues.create"),
            ("list issues", "github.issues.list"),
            ("list the issues of a repository", "github.issues.listForRepo"),
            ("issues.list", "github.issues.list"),
            ("tools.github.repos.get", "github.repos.get"),
            ("comment on issue", "github.issues.createComment"),
            ("remove repository", "github.repos.delete"),
            ("repositories delete", "github.repos.delete"),
            ("refund", "stripe.refunds.post"),
            ("give the customer money back refund", "stripe.refunds.post"),
            ("send slack message", "slack.chat.postMessage"),
            ("find customer by mail", "stripe.customers.search"),
            ("mrege pull request", "github.pulls.merge"),
            ("custommer search", "stripe.customers.search"),
            ("fetch", "http.fetch"),
        ] {
            assert_eq!(first(query), expected, "{query}");
        }
        assert_eq!(rank("zzzz qqqq", &candidates()), Vec::<usize>::new());
        assert_eq!(rank("", &candidates()).len(), TOOLS.len());
        assert_eq!(rank(" -- ", &candidates()).len(), TOOLS.len());
    }

    #[test]
    fn the_index_is_asked_for_stems_in_quotes() {
        assert_eq!(match_expression("repositories"), Some("\"repositor\"* OR \"repo\"*".into()));
        assert_eq!(match_expression("the issues"), Some("\"issu\"*".into()));
        assert_eq!(match_expression("the"), Some("\"the\"*".into()));
        assert_eq!(
            match_expression("x\" OR path:* NEAR(a,b) --"),
            Some("\"x\"* OR \"path\"* OR \"near\"* OR \"b\"*".into())
        );
        assert_eq!(match_expression("\"*:^()"), None);
        // Whatever the ranking finds by stems and synonyms, the index finds as well.
        let expression = match_expression("remove repository").unwrap();
        assert!(expression.contains("\"delet\"*") && expression.contains("\"repositor\"*"));
    }

    #[test]
    fn an_unknown_path_has_neighbours() {
        for (path, expected) in [
            ("github.issues.creat", "github.issues.create"),
            ("github.createIssue", "github.issues.create"),
            ("gihub.repos.get", "github.repos.get"),
            ("storage.read", "storage.get"),
        ] {
            let near = nearest(path, &candidates(), 3);
            assert!(near.contains(&expected) && near.len() <= 3, "{path}: {near:?}");
        }
        assert_eq!(nearest("qqqq.zzzz", &candidates(), 3), Vec::<&str>::new());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn an_expression_is_quoted_words_whatever_is_asked(query in "[\\PC\"'*^:() ]{0,60}") {
            if let Some(expression) = match_expression(&query) {
                for term in expression.split(" OR ") {
                    let word = term.strip_prefix('"').and_then(|rest| rest.strip_suffix("\"*"));
                    let word = word.unwrap_or("");
                    prop_assert!(!word.is_empty() && word.chars().all(char::is_alphanumeric), "{}", expression);
                }
            }
        }

        #[test]
        fn ranking_takes_anything(query in "\\PC{0,40}", texts in prop::collection::vec("\\PC{0,30}", 0..8)) {
            let all: Vec<Candidate<'_>> = texts
                .iter()
                .map(|text| Candidate { path: text, name: text, description: text })
                .collect();
            let mut places = rank(&query, &all);
            places.sort_unstable();
            places.dedup();
            prop_assert!(places.len() <= all.len());
            let _ = nearest(&query, &all, 3);
        }

        #[test]
        fn an_exact_path_is_first(place in 0..TOOLS.len()) {
            prop_assert_eq!(first(TOOLS[place].0), TOOLS[place].0);
        }
    }
}
