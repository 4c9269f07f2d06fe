//! Words of names and texts, and how well tools fit what is looked for. Pure.
//!
//! The database finds tools that have any of the words ([`query`]) and gives some 200; which of them
//! are meant is decided here ([`rank`]).

use crate::store::sources::Brief;
use sha2::{Digest as _, Sha256};
use std::cmp::Reverse;

/// Words of one query at most; what follows is left out.
const MAX_WORDS: usize = 16;

/// Words that say nothing about which tool is meant.
const EMPTY: &[&str] = &[
    "a", "all", "an", "and", "by", "do", "for", "from", "get", "how", "i", "in", "is", "it", "me",
    "my", "of", "on", "or", "some", "that", "the", "this", "to", "tool", "tools", "what", "which",
    "with",
];

/// The words of a text in small letters: parted where letters end, where small letters are followed
/// by a capital, and where letters and digits meet.
#[must_use]
pub fn split(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for char in text.chars() {
        let parts = before.is_lowercase() && char.is_uppercase()
            || before.is_numeric() != char.is_numeric() && before.is_alphanumeric();
        if (parts || !char.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if char.is_alphanumeric() {
            word.extend(char.to_lowercase());
        }
        before = char;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The words of the index that stand for whose a tool is: the principal's, and the source's.
#[must_use]
pub fn owners(principal: &str, source: &str) -> [String; 2] {
    let word = |letter: char, text: &str| {
        let hash = crate::hex::encode(&Sha256::digest(text.as_bytes()));
        // The last letter keeps the stemmer from taking the end for one of a word.
        format!("{letter}{}x", hash.chars().take(24).collect::<String>())
    };
    [word('p', principal), word('s', &format!("{principal}\n{source}"))]
}

/// The query of FTS5 for `words` among the tools of a principal, or of one of its sources; `letters`
/// cuts each word, so that a slip of the pen behind them does not matter.
#[must_use]
pub fn query(
    principal: &str,
    source: Option<&str>,
    words: &[String],
    letters: Option<usize>,
) -> Option<String> {
    // Words are letters and digits only, so nothing in the quotes can end them.
    let words: Vec<String> = words
        .iter()
        .take(MAX_WORDS)
        .map(|word| match letters {
            Some(letters) => word.chars().take(letters).collect(),
            None => word.clone(),
        })
        .map(|word: String| format!("\"{word}\"*"))
        .collect();
    if words.is_empty() {
        return None;
    }
    let [of_principal, of_source] = owners(principal, source.unwrap_or_default());
    let owner = if source.is_some() { of_source } else { of_principal };
    Some(format!("owner : \"{owner}\" AND {{path words description}} : ({})", words.join(" OR ")))
}

/// The words that say what is looked for; all of them where none says anything.
#[must_use]
pub fn of_query(query: &str) -> Vec<String> {
    let mut words = split(query);
    words.dedup();
    let telling: Vec<String> =
        words.iter().filter(|word| !EMPTY.contains(&word.as_str())).cloned().collect();
    if telling.is_empty() { words } else { telling }
}

/// Puts the tools that fit best first. Those that fit as well as each other are in order of their
/// paths, the short ones first.
pub fn rank(query: &str, found: &mut Vec<Brief>) {
    let words = of_query(query);
    let wanted = query.trim().to_lowercase();
    let mut scored: Vec<(u64, Brief)> =
        found.drain(..).map(|tool| (score(&wanted, &words, &tool), tool)).collect();
    scored.sort_by(|(a, left), (b, right)| {
        (Reverse(a), left.path.len(), &left.path).cmp(&(Reverse(b), right.path.len(), &right.path))
    });
    found.extend(scored.into_iter().map(|(_, tool)| tool));
}

/// What one word is worth at its best place.
fn worth(word: &str, name: &[String], path: &[String], text: &[String]) -> u64 {
    let is = |words: &[String]| words.iter().any(|known| same(known, word));
    let begins = |words: &[String]| {
        word.chars().count() >= 3 && words.iter().any(|known| known.starts_with(word))
    };
    if is(name) {
        40
    } else if is(path) {
        30
    } else if begins(name) {
        24
    } else if begins(path) {
        18
    } else if text.iter().take(16).any(|known| same(known, word)) {
        14
    } else if is(text) {
        10
    } else if begins(text) {
        6
    } else {
        0
    }
}

/// Equal but for a plural's end.
fn same(known: &str, word: &str) -> bool {
    let stem = |word: &str| -> String {
        let word = word.strip_suffix('s').filter(|stem| stem.len() >= 3).unwrap_or(word);
        word.strip_suffix("ie").map_or_else(|| word.to_owned(), |stem| format!("{stem}y"))
    };
    known == word || stem(known) == stem(word)
}

fn score(wanted: &str, words: &[String], tool: &Brief) -> u64 {
    let path = split(&tool.path);
    let last = tool.path.rsplit('.').next().unwrap_or_default();
    let name = split(last);
    let text = split(&tool.description);
    let mut sum = 0_u64;
    let mut met = 0_u64;
    for word in words {
        let worth = worth(word, &name, &path, &text);
        sum = sum.saturating_add(worth);
        met = met.saturating_add(u64::from(worth > 0));
    }
    // A tool that has all of the words stands above one that has a single word in its name.
    let asked = u64::try_from(words.len()).unwrap_or(u64::MAX).max(1);
    let mut score = sum.saturating_mul(met).div_euclid(asked);
    // A name that says little else is rather the one that was meant.
    let extra = u64::try_from(name.len()).unwrap_or(u64::MAX).saturating_sub(met);
    score = score.saturating_mul(20).saturating_sub(extra.min(10));
    if tool.path.to_lowercase() == wanted {
        score = score.saturating_add(100_000);
    } else if last.to_lowercase() == wanted {
        score = score.saturating_add(50_000);
    }
    score
}

#[cfg(test)]
mod tests {
    //! What somebody looks for comes first.

    use super::*;

    fn tool(path: &str, description: &str) -> Brief {
        Brief {
            path: path.to_owned(),
            source: path.split('.').next().unwrap_or_default().to_owned(),
            description: description.to_owned(),
            hints: "{}".to_owned(),
        }
    }

    #[test]
    fn names_are_parted_into_words() {
        for (text, expected) in [
            ("listIssuesForRepo", vec!["list", "issues", "for", "repo"]),
            ("get_user-by.id2", vec!["get", "user", "by", "id", "2"]),
            ("HTTPServer", vec!["httpserver"]),
            ("größeÄndern", vec!["größe", "ändern"]),
            ("  ", vec![]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_meant_comes_first() {
        let tools = [
            tool("github.issues.create", "Create an issue in a repository."),
            tool("github.issues.list", "List the issues of a repository."),
            tool("github.issues.listComments", "List comments of an issue."),
            tool("github.repos.get", "Get a repository."),
            tool("github.repos.list", "List repositories of an organization, with open issues."),
            tool("mail.send", "Send a mail to somebody about an issue."),
            tool("crm.contacts.search", "Find people by name or mail."),
        ];
        for (query, expected) in [
            ("list issues", "github.issues.list"),
            ("issue list", "github.issues.list"),
            ("create issue", "github.issues.create"),
            ("how do I create an issue", "github.issues.create"),
            ("send mail", "mail.send"),
            ("comments", "github.issues.listComments"),
            ("github.repos.get", "github.repos.get"),
            ("list repositories", "github.repos.list"),
            ("find contact", "crm.contacts.search"),
        ] {
            let mut found = tools.to_vec();
            rank(query, &mut found);
            assert_eq!(found[0].path, expected, "{query}");
        }
    }

    #[test]
    fn equals_are_in_one_order() {
        let mut one = vec![tool("a.bb", ""), tool("a.c", ""), tool("a.b", "")];
        let mut other = vec![tool("a.c", ""), tool("a.b", ""), tool("a.bb", "")];
        rank("zzz", &mut one);
        rank("zzz", &mut other);
        assert_eq!(one, other);
        assert_eq!(one[0].path, "a.b");
    }

    #[test]
    fn a_query_holds_words_and_nothing_that_could_end_them() {
        let words = of_query(r#"list " OR owner : x* issues"#);
        assert_eq!(words, ["list", "owner", "x", "issues"]);
        let made = query("ada", Some("github"), &words, None).unwrap();
        let [_, source] = owners("ada", "github");
        assert!(made.starts_with(&format!("owner : \"{source}\" AND")), "{made}");
        assert!(made.ends_with(r#"("list"* OR "owner"* OR "x"* OR "issues"*)"#), "{made}");
        assert_eq!(query("ada", None, &[], None), None);
        assert_eq!(of_query("the tools"), ["the", "tools"]);
        let cut = query("ada", None, &["creat".to_owned()], Some(3)).unwrap();
        assert!(cut.ends_with(r#"("cre"*)"#), "{cut}");
    }
}
