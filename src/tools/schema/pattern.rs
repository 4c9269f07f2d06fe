//! Patterns of schemas: regular expressions as JavaScript writes them, matched in linear time.
//!
//! They are rewritten for an engine without backtracking. Look-around and back-references need
//! backtracking, and classes by Unicode property need tables that weigh more than all the rest:
//! such a pattern is refused by name.

use regex_lite::{Regex, RegexBuilder};
use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// Characters of a pattern at most.
const MAX_CHARS: usize = 4_096;

/// Bytes of a compiled pattern at most.
const MAX_COMPILED_BYTES: usize = 1_048_576;

/// What `\s` matches, in the ranges of a class.
const SPACES: &[(char, char)] = &[
    ('\t', '\r'),
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{feff}', '\u{feff}'),
];

const DIGITS: &[(char, char)] = &[('0', '9')];

const WORDS: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

/// What `.` does not match.
const LINE_ENDS: &[(char, char)] = &[('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')];

/// A pattern, ready to match.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// States that a character can meet, roughly.
    weight: u64,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// Why it is none that is matched here, as words that follow its place.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if text.chars().nth(MAX_CHARS).is_some() {
            return Err(format!("has over {MAX_CHARS} characters"));
        }
        let mut rewriting =
            Rewriting { rest: text.chars().peekable(), out: String::new(), weight: 1 };
        rewriting.all()?;
        let regex = RegexBuilder::new(&rewriting.out)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|_| "is not a regular expression, or one that is far too large".to_owned())?;
        Ok(Self { regex, weight: rewriting.weight })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// What a match of the text costs at most, in steps of the engine.
    pub(super) fn cost(&self, text: &str) -> u64 {
        u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_mul(self.weight)
    }
}

struct Rewriting<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    weight: u64,
}

/// A member of a class.
enum Member {
    One(char),
    Ranges(Vec<(char, char)>),
}

impl Rewriting<'_> {
    fn all(&mut self) -> Result<(), String> {
        while let Some(c) = self.rest.next() {
            self.weight = self.weight.saturating_add(1);
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '.' => self.put_class(true, LINE_ENDS),
                '(' => self.group()?,
                '{' => self.braces(),
                '^' | '$' | '|' | ')' | '*' | '+' | '?' => self.out.push(c),
                other => self.literal(other),
            }
        }
        Ok(())
    }

    fn literal(&mut self, c: char) {
        if c.is_ascii_alphanumeric() || (!c.is_ascii() && !c.is_whitespace()) {
            self.out.push(c);
        } else {
            let _ = write!(self.out, "\\x{{{:x}}}", u32::from(c));
        }
    }

    fn group(&mut self) -> Result<(), String> {
        // Nothing is captured here.
        self.out.push_str("(?:");
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        match (self.rest.next(), self.rest.peek()) {
            (Some(':'), _) => Ok(()),
            (Some('='), _) => Err("looks ahead with (?=, which is not matched here".to_owned()),
            (Some('!'), _) => Err("looks ahead with (?!, which is not matched here".to_owned()),
            (Some('<'), Some('=' | '!')) => {
                Err("looks behind with (?<, which is not matched here".to_owned())
            }
            (Some('<'), _) => {
                for c in self.rest.by_ref() {
                    if c == '>' {
                        return Ok(());
                    }
                }
                Err("has a group without an end".to_owned())
            }
            _ => Err("has a group (? that JavaScript does not know".to_owned()),
        }
    }

    /// A quantifier, or a brace that is one.
    fn braces(&mut self) {
        let ahead: String = self.rest.clone().take_while(|c| *c != '}').take(24).collect();
        let (least, most) = ahead.split_once(',').unwrap_or((&ahead, &ahead));
        let closed = self.rest.clone().nth(ahead.len()) == Some('}');
        let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        if !closed || least.is_empty() || !digits(least) || !digits(most) {
            return self.literal('{');
        }
        for _ in 0..=ahead.len() {
            self.rest.next();
        }
        let times = most.parse().or_else(|_| least.parse()).unwrap_or(u64::from(u32::MAX));
        self.weight = self.weight.saturating_mul(u64::max(times, 1));
        let _ = write!(self.out, "{{{ahead}}}");
    }

    fn escape(&mut self) -> Result<(), String> {
        match self.rest.peek() {
            Some(c @ ('b' | 'B')) => {
                self.out.push('\\');
                self.out.push(*c);
                self.rest.next();
                return Ok(());
            }
            Some('1'..='9') => {
                return Err("refers back with \\1, which is not matched here".to_owned());
            }
            Some('k') => return Err("refers back with \\k, which is not matched here".to_owned()),
            _ => {}
        }
        match self.escaped()? {
            Member::One(c) => self.literal(c),
            Member::Ranges(ranges) => self.put_class(false, &ranges),
        }
        Ok(())
    }

    /// What stands after a backslash, in a class or outside.
    fn escaped(&mut self) -> Result<Member, String> {
        let Some(c) = self.rest.next() else { return Err("ends with a backslash".to_owned()) };
        let one = |c| Ok(Member::One(c));
        match c {
            'd' => Ok(Member::Ranges(DIGITS.to_vec())),
            'D' => Ok(Member::Ranges(all_but(DIGITS))),
            'w' => Ok(Member::Ranges(WORDS.to_vec())),
            'W' => Ok(Member::Ranges(all_but(WORDS))),
            's' => Ok(Member::Ranges(SPACES.to_vec())),
            'S' => Ok(Member::Ranges(all_but(SPACES))),
            't' => one('\t'),
            'n' => one('\n'),
            'r' => one('\r'),
            'v' => one('\u{b}'),
            'f' => one('\u{c}'),
            '0' => one('\0'),
            'c' => match self.rest.next_if(char::is_ascii_alphabetic) {
                Some(letter) => one(char::from_u32(u32::from(letter) % 32).unwrap_or(letter)),
                None => Err("has \\c without a letter".to_owned()),
            },
            'x' => match self.hex(2).and_then(char::from_u32) {
                Some(c) => one(c),
                None => Err("has \\x without two hexadecimal digits".to_owned()),
            },
            'u' => match self.code_point() {
                Some(c) => one(c),
                None => Err("has \\u without a character".to_owned()),
            },
            'p' | 'P' => {
                Err(format!("has a Unicode property \\{c}{{…}}, which is not matched here"))
            }
            other if other.is_ascii_alphanumeric() => {
                Err(format!("has \\{other}, which JavaScript does not know"))
            }
            other => one(other),
        }
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let text: String = self.rest.clone().take(digits).collect();
        if text.len() != digits || !text.chars().all(|c| c.is_ascii_hexdigit()) {
            return None;
        }
        for _ in 0..digits {
            self.rest.next();
        }
        u32::from_str_radix(&text, 16).ok()
    }

    /// `\uXXXX`, two of them, or `\u{X…}`.
    fn code_point(&mut self) -> Option<char> {
        if self.rest.next_if_eq(&'{').is_some() {
            let text: String = self.rest.by_ref().take_while(|c| *c != '}').collect();
            return char::from_u32(u32::from_str_radix(&text, 16).ok()?);
        }
        let first = self.hex(4)?;
        if let Some(c) = char::from_u32(first) {
            return Some(c);
        }
        self.rest.next_if_eq(&'\\')?;
        self.rest.next_if_eq(&'u')?;
        let second = u16::try_from(self.hex(4)?).ok()?;
        char::decode_utf16([u16::try_from(first).ok()?, second]).next()?.ok()
    }

    fn class(&mut self) -> Result<(), String> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let from = match self.member()? {
                None => break,
                Some(Member::Ranges(more)) => {
                    ranges.extend(more);
                    continue;
                }
                Some(Member::One(c)) => c,
            };
            // A minus before the end is one.
            let mut ahead = self.rest.clone();
            if ahead.next() != Some('-') || matches!(ahead.next(), Some(']') | None) {
                ranges.push((from, from));
                continue;
            }
            self.rest.next();
            match self.member()? {
                Some(Member::One(to)) if from <= to => ranges.push((from, to)),
                Some(Member::One(_)) => return Err("has a range whose end comes first".to_owned()),
                Some(Member::Ranges(more)) => {
                    ranges.extend([(from, from), ('-', '-')]);
                    ranges.extend(more);
                }
                None => break,
            }
        }
        self.weight = self.weight.saturating_add(u64::try_from(ranges.len()).unwrap_or(u64::MAX));
        self.put_class(negated, &ranges);
        Ok(())
    }

    /// The next member of a class, up to its end.
    fn member(&mut self) -> Result<Option<Member>, String> {
        match self.rest.next() {
            None => Err("has a class without an end".to_owned()),
            Some(']') => Ok(None),
            Some('\\') if self.rest.next_if_eq(&'b').is_some() => Ok(Some(Member::One('\u{8}'))),
            Some('\\') => self.escaped().map(Some),
            Some(c) => Ok(Some(Member::One(c))),
        }
    }

    fn put_class(&mut self, negated: bool, ranges: &[(char, char)]) {
        if ranges.is_empty() {
            // `[^]` is any character, `[]` none.
            let any = [('\0', char::MAX)];
            return self.put_class(!negated, &any);
        }
        self.out.push_str(if negated { "[^" } else { "[" });
        for (from, to) in ranges {
            let _ = write!(self.out, "\\x{{{:x}}}-\\x{{{:x}}}", u32::from(*from), u32::from(*to));
        }
        self.out.push(']');
    }
}

/// Every character outside of the ranges, which are in order.
fn all_but(ranges: &[(char, char)]) -> Vec<(char, char)> {
    let mut others = Vec::new();
    let mut next = '\0';
    for (from, to) in ranges {
        if let Some(before) = (next..*from).next_back() {
            others.push((next, before));
        }
        next = (*to..=char::MAX).nth(1).unwrap_or(char::MAX);
    }
    others.push((next, char::MAX));
    others
}

#[cfg(test)]
mod tests {
    //! What JavaScript matches is matched; what is not matched says so.

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pattern_means_what_it_means_in_javascript() {
        let cases = [
            ("^[a-z]+$", "abc", "abC"),
            ("^\\d{2,3}$", "012", "٠١"),
            ("^\\w\\W$", "a-", "é-"),
            ("^\\s$", "\u{feff}", "x"),
            ("^\\S$", "x", "\u{a0}"),
            ("^[\\S]$", "é", "\u{2003}"),
            ("^[^\\S]$", "\u{2003}", "é"),
            ("^.$", "é", "\u{2028}"),
            ("^[^]$", "\n", ""),
            ("a|[]", "a", "b"),
            ("^\\/[\\-.\\]]$", "/]", "/["),
            ("^\\cA\\x41\\u0042\\u{43}\\uD83D\\uDE00\\0$", "\u{1}ABC😀\0", "ABC"),
            ("^(?<year>\\d+)-(\\d+)$", "12-3", "12"),
            ("^a{,2}$", "a{,2}", "aa"),
            ("^{a}$", "{a}", "a"),
            ("^[a-\\d]$", "-", "b"),
            ("^[-a-]$", "-", "b"),
            ("^[[&&]$", "&", "x"),
            ("^[~~#]$", "#", "x"),
            ("^ #x$", " #x", "x"),
            ("\\bx\\b", "a x b", "axb"),
            ("^[\\b]$", "\u{8}", "b"),
            ("^a*?b+?c??$", "aabb", "c"),
            ("^🐲*$", "🐲🐲", "🐉"),
            ("^.$", "😀", "ab"),
        ];
        for (pattern, fits, does_not) in cases {
            let read = Pattern::read(pattern).unwrap_or_else(|why| panic!("{pattern} {why}"));
            assert!(read.matches(fits), "{pattern} {fits}");
            assert!(!read.matches(does_not), "{pattern} {does_not}");
        }
    }

    #[test]
    fn what_is_not_matched_here_is_named() {
        let cases = [
            ("(?=a)", "looks ahead"),
            ("(?!a)", "looks ahead"),
            ("(?<=a)b", "looks behind"),
            ("(?<!a)b", "looks behind"),
            ("(a)\\1", "refers back"),
            ("(?<a>a)\\k<a>", "refers back"),
            ("\\p{L}", "Unicode property"),
            ("[\\P{L}]", "Unicode property"),
            ("(?i)a", "does not know"),
            ("\\Z", "does not know"),
            ("(", "is not a regular expression"),
            ("[a", "without an end"),
            ("(?<a", "without an end"),
            ("[b-a]", "whose end comes first"),
            ("\\", "ends with a backslash"),
            ("\\u12", "without a character"),
            ("(((a{1000}){1000}){1000})", "far too large"),
            (&"a".repeat(5_000), "characters"),
        ];
        for (pattern, why) in cases {
            let told = Pattern::read(pattern).unwrap_err();
            assert!(told.contains(why), "{pattern} {told}");
        }
    }

    #[test]
    fn a_pattern_that_hangs_others_does_not() {
        let text = "a".repeat(100_000) + "!";
        for pattern in ["^(a+)+$", "^(a|a)*$", "^(a*)*b$", "^(.*)*x$"] {
            assert!(!Pattern::read(pattern).unwrap().matches(&text), "{pattern}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_or_refused(pattern in "[\\[\\](){}?*+|^$.\\\\\\-a-c0-2,:<>=!pPuxkcbBdDsSwW🐲]{0,24}", text in "\\PC{0,8}") {
            if let Ok(read) = Pattern::read(&pattern) {
                let _ = read.matches(&text);
            }
        }

        #[test]
        fn a_text_matches_itself_escaped(text in "\\PC{0,12}") {
            let escaped: String = text
                .chars()
                .map(|c| if c.is_ascii_punctuation() { format!("\\{c}") } else { c.to_string() })
                .collect();
            let pattern = Pattern::read(&format!("^{escaped}$")).unwrap();
            prop_assert!(pattern.matches(&text));
        }
    }
}
