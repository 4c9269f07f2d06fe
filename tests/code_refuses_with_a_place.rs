//! What cannot run is refused with its place in the text as it was sent, and the line with a caret.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    reason = "a test ends at the first surprise"
)]

use holdfast::code::{Options, Prepared, Refusal, prepare};

fn prepared(source: &str) -> Result<Prepared, Refusal> {
    prepare(source, &Options { guard: true, ambient: &["tools", "params"] })
}

#[test]
fn what_a_program_may_not_have_is_named_at_its_place() {
    let cases = [
        ("a static import", "import fs from \"node:fs\";\nreturn 1", "import", 1, 1),
        ("import for its effect", "1;\n  import './a.js'", "import", 2, 3),
        ("a re-export", "export { a } from './a.js'", "import", 1, 1),
        ("a re-export of the runtime", "export { tools } from 'holdfast:runtime'", "import", 1, 1),
        ("a re-export of all", "1\nexport * from './a.js'", "import", 2, 1),
        ("import()", "return await import('node:fs')", "import()", 1, 14),
        ("import() in an arrow", "const f = () => import(x)", "import()", 1, 17),
        ("import.meta", "return import.meta.url", "import.meta", 1, 8),
        (
            "a name that the runtime lacks",
            "import { tools, tool } from 'holdfast:runtime'",
            "tools, params",
            1,
            17,
        ),
        ("a deferred import", "import defer * as a from 'holdfast:runtime'", "import", 1, 1),
        ("new.target", "return new.target", "new.target", 1, 8),
        ("a missing value", "const a = 1;\nconst b = ;", "Unexpected token", 2, 11),
        ("after characters of all widths", "const a = 'é😀'; b c", "line 1, column 19", 1, 19),
        ("after other line ends", "a;\r\nb;\rc;\u{2028}d e", "line 4, column 2", 4, 2),
        ("after a byte order mark", "\u{feff}a b", "line 1, column 2", 1, 2),
        ("curly quotes", "return “a”", "quote", 1, 8),
        ("an apostrophe", "let a = ‘b’", "quote", 1, 9),
        ("curly quotes elsewhere", "let a = \"“\"; let b = ;", "quotes", 1, 22),
        ("in a fence", "Run:\n```js\nlet a = ;\n```", "line 3", 3, 9),
        ("with", "with (a) b", "with", 1, 1),
        ("await in a function", "function f() { await 1 }", "await", 1, 16),
    ];
    for (name, source, text, line, column) in cases {
        let refusal = prepared(source).expect_err(name);
        assert!(refusal.message.contains(text), "{name}: {refusal}");
        let place = refusal.place.unwrap_or_else(|| panic!("{name}: {refusal}"));
        assert_eq!((place.line, place.column), (line, column), "{name}: {refusal}");
        assert!(refusal.message.contains(&format!("line {line}")), "{name}: {refusal}");
    }
}

#[test]
fn the_excerpt_is_the_line_with_a_caret() {
    let long = format!("let a = \"{}\"; b c; {}", "x".repeat(300), "y;".repeat(200));
    let cases = [
        ("let a = ;", "let a = ;\n        ^".to_owned()),
        ("\tlet a = ;", "\tlet a = ;\n\t        ^".to_owned()),
        ("let a = '😀' b", "let a = '😀' b\n           ^".to_owned()),
        (
            long.as_str(),
            format!("{}\"; b c; {}\n{}^", "x".repeat(46), "y;".repeat(23), " ".repeat(50)),
        ),
    ];
    for (source, expected) in cases {
        let refusal = prepared(source).expect_err(source);
        let excerpt = refusal.excerpt.expect(source);
        let lines: Vec<&str> = excerpt.split('\n').collect();
        assert!(lines[0].chars().count() <= 100, "{excerpt}");
        assert_eq!(excerpt, expected);
    }
}

#[test]
fn what_the_engine_refuses_gets_its_place_back() {
    let prepared = prepared("let a = 1;\nfor (;;) { f(); } let a = 2;").expect("a program");
    let column = prepared.module.lines().nth(1).expect("a line").find("a = 2").expect("a name");
    let said = format!(
        "Failed to start Worker:\nUncaught SyntaxError: Identifier 'a' has already been declared\n  at program.js:2:{column}"
    );
    let refusal = prepared.refusal_from_engine(&said).expect("a refusal");
    assert_eq!(refusal.message, "line 2, column 23: Identifier 'a' has already been declared");
    assert_eq!(
        refusal.excerpt.as_deref(),
        Some("for (;;) { f(); } let a = 2;\n                      ^")
    );
    let elsewhere =
        prepared.refusal_from_engine("Uncaught SyntaxError: no place").expect("a refusal");
    assert_eq!((elsewhere.message.as_str(), elsewhere.place), ("no place", None));
    assert_eq!(prepared.refusal_from_engine("Uncaught TypeError: x"), None);
}

#[test]
fn every_identifier_leads_back_to_its_own_place() {
    let source = "const straße = '€😀', wörld = (x: number) => { for (let k = 0; k < 9; k++) y(x as any, k!); };\n\
                  class Q { z = straße; constructor(private v) { while (v) u(v); } } enum E { F, G = F }\n\
                  /* é */ try { for (const q of wörld) q.r(); } catch (s) { tt(s) } finally { do w(); while (x1) }";
    let prepared = prepared(source).expect("a program");
    let names = [
        "straße",
        "wörld",
        "k",
        "x",
        "Q",
        "z",
        "constructor",
        "v",
        "u",
        "q",
        "r",
        "s",
        "tt",
        "w",
        "x1",
    ];
    let mut checked = 0;
    for (number, line) in prepared.module.lines().enumerate().take(3) {
        for (at, word) in words(line) {
            if !names.contains(&word) || (number == 0 && at < 80) {
                continue;
            }
            let column = u32::try_from(line[..at].encode_utf16().count() + 1).expect("a column");
            let line = u32::try_from(number + 1).expect("a line");
            let back = prepared.position(line, column).expect("a position");
            let text = source.lines().nth(back.line as usize - 1).expect("a line");
            let units: Vec<u16> = text.encode_utf16().skip(back.column as usize - 1).collect();
            let rest = String::from_utf16(&units).expect("text");
            // What is put in for a parameter property leads to the body it stands in.
            if rest.starts_with(" while (v)") {
                continue;
            }
            assert!(rest.starts_with(word), "{word} leads to {rest}");
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
    assert_eq!(prepared.position(1, 1), None);
    assert_eq!(prepared.position(4, 1), None);
    assert_eq!(prepared.position(99, 1), None);
}

fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split(|c: char| !c.is_alphanumeric() && c != '$')
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - line.as_ptr() as usize, word))
}
