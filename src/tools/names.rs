//! Names of tools: which are allowed, and what a caller who mistyped one most likely meant.

/// Parts that a program cannot write as a call: `await`, the codec and the language itself look
/// them up on any object.
const RESERVED_PARTS: &[&str] = &["then", "toJSON", "constructor", "prototype", "__proto__"];

/// Whether a tool may have the name: parts between dots, none empty, none reserved.
#[must_use]
pub fn is_allowed(name: &str) -> bool {
    name.split('.').all(|part| !part.is_empty() && !RESERVED_PARTS.contains(&part))
}

/// At most `most` of `known` that are near `wanted`, the nearest first. Pure.
pub fn nearest<'a>(
    wanted: &str,
    known: impl Iterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let wanted: Vec<char> = wanted.chars().take(128).collect();
    // A third of the name wrong is no longer a slip of the pen; a shared last part still is a hint,
    // and the better one: whoever writes `fetch` means `http.fetch`.
    let bound = wanted.len().div_euclid(3).saturating_add(1);
    let tail = |text: &str| text.rsplit('.').next().unwrap_or_default().to_owned();
    let wanted_tail = tail(&wanted.iter().collect::<String>());
    let mut scored: Vec<(bool, usize, &str)> = known
        .filter_map(|name| {
            let distance = distance(&wanted, &name.chars().take(128).collect::<Vec<_>>());
            let shares_tail = !wanted_tail.is_empty() && tail(name) == wanted_tail;
            (distance <= bound || shares_tail).then_some((!shares_tail, distance, name))
        })
        .collect();
    scored.sort_unstable();
    scored.dedup();
    scored.into_iter().take(most).map(|(_, _, name)| name).collect()
}

/// Insertions, deletions and substitutions between two texts.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i.saturating_add(1);
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, y) in row.iter_mut().skip(1).zip(b) {
            let above = *cell;
            let substituted = diagonal.saturating_add(usize::from(x != y));
            left = substituted.min(above.saturating_add(1)).min(left.saturating_add(1));
            diagonal = above;
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    //! A slip of the pen finds its tool.

    use super::*;

    #[test]
    fn a_name_with_a_reserved_part_is_not_allowed() {
        for name in ["a", "a.b", "github.list-issues", "2fa.check", "thenable.x"] {
            assert!(is_allowed(name), "{name}");
        }
        for name in ["", "a.", ".a", "then", "a.toJSON", "constructor.b", "a.__proto__.b"] {
            assert!(!is_allowed(name), "{name}");
        }
    }

    #[test]
    fn the_nearest_names_come_first() {
        let known = ["search", "storage.get", "storage.set", "storage.list", "http.fetch"];
        let cases: [(&str, &[&str]); 5] = [
            ("serch", &["search"]),
            ("storage.gt", &["storage.get", "storage.set", "storage.list"]),
            ("fetch", &["http.fetch"]),
            ("http.fetsh", &["http.fetch"]),
            ("qqqqqqqq", &[]),
        ];
        for (wanted, expected) in cases {
            let found = nearest(wanted, known.into_iter(), 3);
            assert!(found.starts_with(&expected[..expected.len().min(1)]), "{wanted}: {found:?}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{wanted}: {found:?}");
        }
    }
}
