//! Values as the host sees them: tagged JSON read, checked, and written in its plain form.
//!
//! Inside, values travel as tagged JSON, so that nothing is lost on the way to the journal: plain
//! data is itself, and what JSON lacks is an object with the key `$`. The table of tags stands in
//! `src/sandbox/harness/codec.js`, the other half; both pass `tests/cases/codec.json`. What a client
//! reads, and what a tool that takes JSON receives, is the plain form.
//!
//! Tagged text comes out of a sandbox, so it is read as a request is read: anything that is not of
//! the form is [`Invalid`]. Numbers and texts are carried over as they were written, never parsed to
//! floats and back.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// Levels of lists and objects. The harness refuses values over 100; a message adds a few.
const MAX_DEPTH: usize = 128;

/// Why a text is not a tagged value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    what: &'static str,
    /// Byte of the text, where one is to blame.
    at: Option<usize>,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{} at byte {at}", self.what),
            None => f.write_str(self.what),
        }
    }
}

impl std::error::Error for Invalid {}

/// The plain form of a tagged text, and what it lost, as sentences for a reader.
///
/// # Errors
///
/// [`Invalid`] where the text is not tagged JSON.
pub fn plain<'a>(tagged: impl Into<Cow<'a, str>>) -> Result<(String, Vec<String>), Invalid> {
    let tagged = tagged.into();
    let seen = skim(&tagged)?;
    if !seen.dollar && !seen.space {
        return Ok((tagged.into_owned(), Vec::new()));
    }
    untagged(&tagged)
}

fn untagged(tagged: &str) -> Result<(String, Vec<String>), Invalid> {
    let node = read(tagged)?;
    let mut writer = Writer { out: String::with_capacity(tagged.len()), lost: Lost::default() };
    writer.write(&node)?;
    Ok((writer.out, writer.lost.sentences()))
}

/// Plain JSON from outside (a client's parameters, a tool's answer) as tagged JSON: an object that
/// has a key `$` of its own is escaped, all else stays as it was written.
///
/// # Errors
///
/// [`Invalid`] where the text is not JSON, holds half of a surrogate pair, or is nested too deep.
pub fn tagged<'a>(plain: impl Into<Cow<'a, str>>) -> Result<String, Invalid> {
    let plain = plain.into();
    if !skim(&plain)?.dollar {
        return Ok(plain.into_owned());
    }
    escaped(&plain)
}

fn escaped(plain: &str) -> Result<String, Invalid> {
    let node = read(plain)?;
    let mut out = String::with_capacity(plain.len());
    escape(&node, &mut out);
    Ok(out)
}

/// Bytes as a tagged value.
#[must_use]
pub fn bytes(bytes: &[u8]) -> serde_json::Value {
    serde_json::json!({ "$": "bytes", "v": encode_base64(bytes) })
}

/// The bytes of a tagged value, if it is one of bytes.
#[must_use]
pub fn as_bytes(value: &serde_json::Value) -> Option<Vec<u8>> {
    if value.get("$")?.as_str()? != "bytes" {
        return None;
    }
    decode_base64(value.get("v")?.as_str()?)
}

/// A piece of JSON, in slices of its text. Texts keep their quotes and escapes.
#[derive(Debug)]
enum Node<'a> {
    /// `null`, `true`, `false` or a number, as written.
    Literal(&'a str),
    Text(&'a str),
    List(Vec<Node<'a>>),
    Object(Vec<(&'a str, Node<'a>)>),
}

impl<'a> Node<'a> {
    fn text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(inner(text)),
            _ => None,
        }
    }
}

/// A text without its quotes, escapes kept.
fn inner(text: &str) -> &str {
    text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text)
}

// ---- Reading -----------------------------------------------------------------------------------

/// What a text is made of.
fn read(text: &str) -> Result<Node<'_>, Invalid> {
    let mut reader = Reader::of(text, true);
    reader.whole()
}

/// Reads a text as [`read`] does and keeps nothing of it: what most values need is no more.
fn skim(text: &str) -> Result<Seen, Invalid> {
    let mut reader = Reader::of(text, false);
    reader.whole()?;
    Ok(reader.seen)
}

/// What was met while reading.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// A key or a text that is `$` alone, or an escaped `$`: without one there is no tag.
    dollar: bool,
    /// White space between the tokens.
    space: bool,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Lists and objects are told with what is in them.
    keeps: bool,
    seen: Seen,
}

/// Bytes of a text before its next quote, backslash or control character. Eight at a time: values
/// may be megabytes of text.
fn ordinary(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut at = 0_usize;
    for word in words {
        let found = marks(u64::from_le_bytes(*word));
        if found != 0 {
            let before = usize::try_from(found.trailing_zeros()).unwrap_or_default();
            return at.saturating_add(before.div_euclid(8));
        }
        at = at.saturating_add(8);
    }
    let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    at.saturating_add(rest.iter().position(ends).unwrap_or(rest.len()))
}

/// The high bit of the lowest byte that [`ordinary`] stops at; higher ones may be marked wrongly.
const fn marks(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
    const SLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);
    const CONTROLS: u64 = u64::from_le_bytes([0x20; 8]);
    let (quote, slash) = (word ^ QUOTES, word ^ SLASHES);
    let quote = quote.wrapping_sub(ONES) & !quote;
    let slash = slash.wrapping_sub(ONES) & !slash;
    let control = word.wrapping_sub(CONTROLS) & !word;
    (quote | slash | control) & HIGH
}

impl<'a> Reader<'a> {
    fn of(text: &'a str, keeps: bool) -> Self {
        Self { text, at: 0, keeps, seen: Seen::default() }
    }

    fn whole(&mut self) -> Result<Node<'a>, Invalid> {
        self.space();
        let node = self.value(MAX_DEPTH)?;
        self.space();
        if self.at < self.text.len() {
            Err(self.wrong("something after the value"))
        } else {
            Ok(node)
        }
    }

    fn wrong(&self, what: &'static str) -> Invalid {
        Invalid { what, at: Some(self.at) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.seen.space = true;
            self.step();
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let eaten = self.peek() == Some(byte);
        if eaten {
            self.step();
        }
        eaten
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn value(&mut self, depth: usize) -> Result<Node<'a>, Invalid> {
        match self.peek() {
            Some(b'"') => Ok(Node::Text(self.string()?)),
            Some(b'[') => self.list(self.deeper(depth)?),
            Some(b'{') => self.object(self.deeper(depth)?),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn deeper(&self, depth: usize) -> Result<usize, Invalid> {
        depth.checked_sub(1).ok_or_else(|| self.wrong("nested too deep"))
    }

    fn list(&mut self, depth: usize) -> Result<Node<'a>, Invalid> {
        self.step();
        self.space();
        let mut parts = Vec::new();
        if self.eat(b']') {
            return Ok(Node::List(parts));
        }
        loop {
            self.space();
            let part = self.value(depth)?;
            if self.keeps {
                parts.push(part);
            }
            self.space();
            if self.eat(b']') {
                return Ok(Node::List(parts));
            }
            if !self.eat(b',') {
                return Err(self.wrong("no comma in a list"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node<'a>, Invalid> {
        self.step();
        self.space();
        let mut entries = Vec::new();
        if self.eat(b'}') {
            return Ok(Node::Object(entries));
        }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            if !self.eat(b':') {
                return Err(self.wrong("no colon after a key"));
            }
            self.space();
            let value = self.value(depth)?;
            if self.keeps {
                entries.push((key, value));
            }
            self.space();
            if self.eat(b'}') {
                return Ok(Node::Object(entries));
            }
            if !self.eat(b',') {
                return Err(self.wrong("no comma in an object"));
            }
        }
    }

    fn word(&mut self) -> Result<Node<'a>, Invalid> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        for word in ["null", "true", "false"] {
            if rest.starts_with(word) {
                self.at = self.at.saturating_add(word.len());
                return Ok(Node::Literal(word));
            }
        }
        Err(self.wrong("no value"))
    }

    fn number(&mut self) -> Result<Node<'a>, Invalid> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            self.digits()?;
        }
        Ok(Node::Literal(self.since(start)))
    }

    fn digits(&mut self) -> Result<(), Invalid> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.step();
        }
        if self.at == start { Err(self.wrong("no digit in a number")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<&'a str, Invalid> {
        let start = self.at;
        if !self.eat(b'"') {
            return Err(self.wrong("no text"));
        }
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            self.at = self.at.saturating_add(ordinary(rest));
            match self.peek() {
                Some(b'"') => {
                    self.step();
                    let text = self.since(start);
                    self.seen.dollar |= text == "\"$\"";
                    return Ok(text);
                }
                Some(b'\\') => self.escape()?,
                Some(0..=0x1f) => return Err(self.wrong("a control character in a text")),
                _ => return Err(self.wrong("a text without end")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Invalid> {
        self.step();
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.step();
                Ok(())
            }
            Some(b'u') => match self.unit()? {
                0xd800..=0xdbff => {
                    let low = self.eat(b'\\') && self.peek() == Some(b'u');
                    if low && matches!(self.unit()?, 0xdc00..=0xdfff) {
                        Ok(())
                    } else {
                        Err(self.wrong("half of a surrogate pair"))
                    }
                }
                0xdc00..=0xdfff => Err(self.wrong("half of a surrogate pair")),
                unit => {
                    self.seen.dollar |= unit == 0x24;
                    Ok(())
                }
            },
            _ => Err(self.wrong("an unknown escape")),
        }
    }

    /// The code unit of `uXXXX`.
    fn unit(&mut self) -> Result<u16, Invalid> {
        self.step();
        let end = self.at.saturating_add(4);
        let digits = self.text.get(self.at..end).unwrap_or_default();
        // `from_str_radix` takes a sign.
        let all_hex = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let unit = u16::from_str_radix(digits, 16).ok().filter(|_| all_hex);
        let unit = unit.ok_or_else(|| self.wrong("an escape without four digits"))?;
        self.at = end;
        Ok(unit)
    }
}

// ---- The plain form ----------------------------------------------------------------------------

/// What the plain form cannot say, counted.
#[derive(Debug, Default)]
struct Lost {
    numbers: usize,
    bigints: usize,
    maps: usize,
    sets: usize,
    regexps: usize,
    undefined: usize,
}

impl Lost {
    fn sentences(&self) -> Vec<String> {
        let kinds = [
            (self.numbers, "a number that JSON cannot hold became text, or 0 for -0"),
            (self.bigints, "a BigInt became text"),
            (self.maps, "a Map became an object, or a list of pairs"),
            (self.sets, "a Set became a list"),
            (self.regexps, "a RegExp became its source text"),
            (self.undefined, "an undefined in a list became null"),
        ];
        let times = |count: usize| match count {
            1 => String::new(),
            _ => format!(", {count} times"),
        };
        kinds
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("In the result, {what}{}.", times(*count)))
            .collect()
    }
}

struct Writer {
    out: String,
    lost: Lost,
}

/// A tag, taken apart.
struct Tag<'n, 'a> {
    name: &'a str,
    value: Option<&'n Node<'a>>,
    flags: &'a str,
}

const NOT_A_TAG: Invalid = Invalid { what: "an object with the key `$` is no tag", at: None };

/// The tag that an object is, if it has the key `$`.
fn tag_of<'n, 'a>(entries: &'n [(&'a str, Node<'a>)]) -> Result<Option<Tag<'n, 'a>>, Invalid> {
    let find =
        |name: &str| entries.iter().find(|(key, _)| inner(key) == name).map(|(_, node)| node);
    if entries.iter().any(|(key, _)| inner(key) == "\\u0024") {
        return Err(NOT_A_TAG);
    }
    let Some(name) = find("$") else { return Ok(None) };
    let name = name.text().ok_or(NOT_A_TAG)?;
    let flags = find("flags").and_then(Node::text).unwrap_or_default();
    Ok(Some(Tag { name, value: find("v"), flags }))
}

fn is_undefined(node: &Node<'_>) -> bool {
    matches!(node, Node::Object(entries)
        if matches!(tag_of(entries), Ok(Some(Tag { name: "undefined", .. }))))
}

impl Writer {
    fn write(&mut self, node: &Node<'_>) -> Result<(), Invalid> {
        match node {
            Node::Literal(text) | Node::Text(text) => self.out.push_str(text),
            Node::List(parts) => self.list(parts)?,
            Node::Object(entries) => match tag_of(entries)? {
                Some(tag) => self.tag(&tag)?,
                None => self.object(entries)?,
            },
        }
        Ok(())
    }

    fn list(&mut self, parts: &[Node<'_>]) -> Result<(), Invalid> {
        self.out.push('[');
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.out.push(',');
            }
            if is_undefined(part) {
                self.lost.undefined = self.lost.undefined.saturating_add(1);
            }
            self.write(part)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, entries: &[(&str, Node<'_>)]) -> Result<(), Invalid> {
        self.out.push('{');
        let mut first = true;
        for (key, value) in entries {
            self.entry(key, value, &mut first)?;
        }
        self.out.push('}');
        Ok(())
    }

    /// One entry of an object; an undefined one is left out.
    fn entry(&mut self, key: &str, value: &Node<'_>, first: &mut bool) -> Result<(), Invalid> {
        if is_undefined(value) {
            return Ok(());
        }
        if !std::mem::take(first) {
            self.out.push(',');
        }
        self.out.push_str(key);
        self.out.push(':');
        self.write(value)
    }

    fn tag(&mut self, tag: &Tag<'_, '_>) -> Result<(), Invalid> {
        let lost = &mut self.lost;
        match (tag.name, tag.value) {
            ("undefined", None) => self.out.push_str("null"),
            ("number", Some(Node::Text(text))) => {
                lost.numbers = lost.numbers.saturating_add(1);
                match inner(text) {
                    "-0" => self.out.push('0'),
                    "NaN" | "Infinity" | "-Infinity" => self.out.push_str(text),
                    _ => return Err(NOT_A_TAG),
                }
            }
            ("bigint", Some(Node::Text(text))) if is_integer(inner(text)) => {
                lost.bigints = lost.bigints.saturating_add(1);
                self.out.push_str(text);
            }
            ("date", Some(Node::Literal("null"))) => self.out.push_str("\"Invalid Date\""),
            ("date", Some(Node::Text(text))) => self.out.push_str(text),
            ("bytes", Some(Node::Text(text))) if decode_base64(inner(text)).is_some() => {
                let _ = write!(self.out, "{{\"$bytes\":{text}}}");
            }
            ("regexp", Some(Node::Text(text))) => {
                lost.regexps = lost.regexps.saturating_add(1);
                let _ = write!(self.out, "\"/{}/{}\"", inner(text), tag.flags);
            }
            ("set", Some(Node::List(parts))) => {
                lost.sets = lost.sets.saturating_add(1);
                self.list(parts)?;
            }
            ("map", Some(Node::List(parts))) => self.map(parts)?,
            ("error" | "object", Some(Node::Object(entries))) => self.object(entries)?,
            _ => return Err(NOT_A_TAG),
        }
        Ok(())
    }

    /// An object where all keys are text, else a list of pairs.
    fn map(&mut self, flat: &[Node<'_>]) -> Result<(), Invalid> {
        self.lost.maps = self.lost.maps.saturating_add(1);
        let (pairs, rest) = flat.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(NOT_A_TAG);
        }
        if pairs.iter().all(|[key, _]| matches!(key, Node::Text(_))) {
            self.out.push('{');
            let mut first = true;
            for [key, value] in pairs {
                if let Node::Text(key) = key {
                    self.entry(key, value, &mut first)?;
                }
            }
            self.out.push('}');
            return Ok(());
        }
        self.out.push('[');
        for (i, pair) in pairs.iter().enumerate() {
            if i > 0 {
                self.out.push(',');
            }
            self.list(pair)?;
        }
        self.out.push(']');
        Ok(())
    }
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Writes plain JSON as tagged: objects that have a key `$` are wrapped.
fn escape(node: &Node<'_>, out: &mut String) {
    match node {
        Node::Literal(text) | Node::Text(text) => out.push_str(text),
        Node::List(parts) => {
            out.push('[');
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                escape(part, out);
            }
            out.push(']');
        }
        Node::Object(entries) => {
            let is_tag = |key: &str| matches!(inner(key), "$" | "\\u0024");
            let wrapped = entries.iter().any(|(key, _)| is_tag(key));
            out.push_str(if wrapped { "{\"$\":\"object\",\"v\":{" } else { "{" });
            for (i, (key, value)) in entries.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(if is_tag(key) { "\"$\"" } else { key });
                out.push(':');
                escape(value, out);
            }
            out.push_str(if wrapped { "}}" } else { "}" });
        }
    }
}

// ---- Base64 ------------------------------------------------------------------------------------

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as Base64, padded.
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| chunk.get(i).map_or(0, |byte| u32::from(*byte));
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for (i, shift) in [18_u32, 12, 6, 0].into_iter().enumerate() {
            let letter = usize::try_from((bits >> shift) & 63).ok().and_then(|at| ALPHABET.get(at));
            let letter = letter.filter(|_| i <= chunk.len());
            out.push(letter.map_or('=', |byte| char::from(*byte)));
        }
    }
    out
}

/// Padded base64 without white space; `None` for anything else.
#[must_use]
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let (chunks, rest) = text.as_bytes().as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    let Some((last, body)) = chunks.split_last() else { return Some(Vec::new()) };
    let mut out = Vec::with_capacity(chunks.len().saturating_mul(3));
    for chunk in body {
        out.extend(decode_chunk(*chunk)?);
    }
    let padding = last.iter().rev().take_while(|byte| **byte == b'=').count();
    let left = 3_usize.checked_sub(padding).filter(|left| *left > 0)?;
    let unpadded = last.map(|byte| if byte == b'=' { b'A' } else { byte });
    if last.iter().take(4_usize.saturating_sub(padding)).any(|byte| *byte == b'=') {
        return None;
    }
    out.extend(decode_chunk(unpadded)?.iter().take(left));
    Some(out)
}

fn decode_chunk(chunk: [u8; 4]) -> Option<[u8; 3]> {
    let mut bits = 0_u32;
    for byte in chunk {
        let value = match byte {
            b'A'..=b'Z' => byte.wrapping_sub(b'A'),
            b'a'..=b'z' => byte.wrapping_sub(b'a').wrapping_add(26),
            b'0'..=b'9' => byte.wrapping_sub(b'0').wrapping_add(52),
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
    }
    let [_, first, second, third] = bits.to_be_bytes();
    Some([first, second, third])
}

#[cfg(test)]
mod tests {
    //! The plain form of every value that the harness can send, and of nothing else.

    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const VECTORS: &str = include_str!("../../tests/cases/codec.json");

    #[test]
    fn every_vector_has_its_plain_form() {
        let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
        let carried: Vec<_> = vectors.iter().filter(|it| it.get("tagged").is_some()).collect();
        assert!(carried.len() > 40);
        for vector in carried {
            let name = &vector["name"];
            let (plain, _) = plain(vector["tagged"].as_str().unwrap()).unwrap();
            // Compared as text: a number must come out with the digits it came in with.
            assert_eq!(plain, vector["plain"].as_str().unwrap(), "{name}");
        }
    }

    #[test]
    fn what_is_lost_is_said() {
        let tagged = r#"[{"$":"number","v":"NaN"},{"$":"bigint","v":"1"},{"$":"bigint","v":"2"},{"$":"undefined"}]"#;
        let (_, lost) = plain(tagged).unwrap();
        assert_eq!(
            lost,
            [
                "In the result, a number that JSON cannot hold became text, or 0 for -0.",
                "In the result, a BigInt became text, 2 times.",
                "In the result, an undefined in a list became null.",
            ]
        );
    }

    #[test]
    fn what_is_no_tagged_json_is_refused() {
        let deep = format!("{}{}", "[".repeat(129), "]".repeat(129));
        let wrong = [
            "",
            " ",
            "nul",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "1.",
            "-",
            "1e",
            "+1",
            "NaN",
            "\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u+123\"",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"\\ud800\\u0041\"",
            "\"\n\"",
            "1 2",
            r#"{"$":1}"#,
            r#"{"$":"nothing"}"#,
            r#"{"$":"bytes","v":"A"}"#,
            r#"{"$":"bytes","v":"AA=A"}"#,
            r#"{"$":"bytes","v":"A==="}"#,
            r#"{"$":"bytes","v":"===="}"#,
            r#"{"$":"bytes"}"#,
            r#"{"$":"bigint","v":"1.5"}"#,
            r#"{"$":"bigint","v":"-"}"#,
            r#"{"$":"number","v":"1"}"#,
            r#"{"$":"map","v":[1]}"#,
            r#"{"$":"map","v":{}}"#,
            r#"{"$":"set","v":1}"#,
            r#"{"$":"date","v":1}"#,
            r#"{"$":"error","v":[]}"#,
            r#"{"$":"undefined","v":1}"#,
            r#"{"\u0024":"set"}"#,
            &deep,
        ];
        for text in wrong {
            assert!(plain(text).is_err(), "{text}");
        }
        assert!(plain(format!("{}{}", "[".repeat(128), "]".repeat(128))).is_ok());
    }

    #[test]
    fn plain_data_with_the_key_of_a_tag_survives() {
        for text in [
            r#"{"$":"set","v":[1]}"#,
            r#"[{"$":{"$":1}}]"#,
            r#"{"a":1,"$":2}"#,
            r#"{"$bytes":"AQ=="}"#,
            " [ 1 , { \"b\" : null } ] ",
        ] {
            let tagged = tagged(text).unwrap();
            let (back, _) = plain(&tagged).unwrap();
            let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(parse(&back), parse(text));
        }
        assert_eq!(
            tagged(r#"{"\u0024":1}"#).unwrap(),
            r#"{"$":"object","v":{"$":1}}"#,
            "an escaped key is the same key"
        );
    }

    #[test]
    fn bytes_are_bytes_again() {
        for length in 0..20_u8 {
            let some: Vec<u8> = (0..length).map(|i| i.wrapping_mul(37)).collect();
            assert_eq!(as_bytes(&bytes(&some)), Some(some));
        }
        assert_eq!(as_bytes(&json!({"$": "bytes", "v": "AQI="})), Some(vec![1, 2]));
        assert_eq!(as_bytes(&json!({"$": "date", "v": "AQI="})), None);
        assert_eq!(as_bytes(&json!("AQI=")), None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            let key = prop_oneof![Just("$".to_owned()), Just("v".to_owned()), any::<String>()];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::hash_map(key, inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn plain_json_passes_through_unchanged(value in any_json()) {
            let tagged = tagged(value.to_string()).unwrap();
            let (back, _) = plain(&tagged).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), value);
        }

        #[test]
        fn what_is_skimmed_is_what_is_read(
            value in any_json(),
            soup in r#"[\[\]{},:"\\u0-9a-f$ \n]{0,24}"#,
            spaced in any::<bool>(),
        ) {
            let written = if spaced {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            let escaped_key = written.replace("\"$\"", "\"\\u0024\"");
            let wrapped = escaped(&written).unwrap();
            for text in [&written, &escaped_key, &wrapped, &soup] {
                prop_assert_eq!(plain(text), untagged(text), "{}", text);
                let read = read(text).map(|_| {
                    let dollar = text.contains("\"$\"") || text.contains("\\u0024");
                    if dollar { escaped(text).unwrap() } else { text.clone() }
                });
                prop_assert_eq!(tagged(text), read, "{}", text);
            }
        }

        #[test]
        fn a_text_ends_where_it_does(bytes in proptest::collection::vec(
            prop_oneof![4 => any::<u8>(), 4 => Just(b'x'), 1 => Just(b'"'), 1 => 0..0x22_u8], 0..40
        )) {
            let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
            let end = bytes.iter().position(ends).unwrap_or(bytes.len());
            prop_assert_eq!(ordinary(&bytes), end);
        }

        #[test]
        fn the_plain_form_is_json_whatever_comes(value in any_json()) {
            if let Ok((back, _)) = plain(value.to_string()) {
                prop_assert!(serde_json::from_str::<Value>(&back).is_ok());
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = plain(&text);
            let _ = tagged(&text);
        }

        #[test]
        fn what_serde_reads_it_reads(text in r#"[\[\]{},:"\\u0-9a-f$.eE+\- ]{0,24}"#) {
            // The other way does not hold: a float over the range is text to us.
            let theirs = serde_json::from_str::<Value>(&text).is_ok();
            prop_assert!(!theirs || tagged(&text).is_ok(), "{}", text);
        }
    }
}
