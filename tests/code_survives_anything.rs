//! Whatever is sent: no panic, and what is accepted parses again.
//!
//! Three kinds of text: soups of tokens, programs with pieces cut out, doubled and swapped, and
//! brackets nested at random up to the limit and beyond.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends at the first surprise"
)]

use holdfast::code::{Options, prepare, prepare_package};
use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use proptest::prelude::*;

/// Checks one text, with and without the guard. Says whether it was accepted.
fn check(source: &str) -> bool {
    let mut accepted = false;
    for guard in [false, true] {
        let options = Options { guard, ambient: &["tools", "params"] };
        match prepare(source, &options) {
            Ok(prepared) => {
                accepted = true;
                parses(source, &prepared.module);
                // A CR at the end and the LF that closes are one line end.
                let closing = usize::from(!source.ends_with('\r'));
                assert_eq!(
                    lines(source) + closing,
                    lines(&prepared.module),
                    "{source:?}\n{}",
                    prepared.module
                );
                for (line, text) in prepared.module.split('\n').enumerate().take(3) {
                    for column in [1, text.len() / 2, text.len()] {
                        let (line, column) = (u32::try_from(line + 1), u32::try_from(column));
                        let _ = prepared.position(line.expect("a line"), column.expect("a column"));
                    }
                }
            }
            Err(refusal) => assert!(!refusal.message.is_empty()),
        }
        let modules = [("index.ts".to_owned(), source.to_owned())].into_iter().collect();
        if let Ok(package) = prepare_package(&modules, &options) {
            for module in &package.modules {
                parses(source, &module.text);
            }
        }
    }
    accepted
}

fn parses(source: &str, module: &str) {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, module, SourceType::mjs()).parse();
    let error = parsed.diagnostics.errors().next().map(ToString::to_string);
    assert!(error.is_none() && !parsed.panicked, "{error:?}\n{source:?}\n{module}");
}

fn lines(text: &str) -> usize {
    text.replace("\r\n", "\n").matches(['\n', '\r', '\u{2028}', '\u{2029}']).count()
}

const TOKENS: &[&str] = &[
    "a",
    "b",
    "x",
    "$t",
    "$l",
    "\\u0024t",
    "é",
    "😀",
    "0",
    "1",
    "2n",
    ".5",
    "1.",
    "\"s\"",
    "'t'",
    "`u`",
    "`v${",
    "}`",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    ",",
    ".",
    "?.",
    "...",
    "=>",
    "=",
    "+=",
    "??=",
    "**",
    "+",
    "-",
    "++",
    "--",
    "*",
    "/",
    "/re/g",
    "/[/]/",
    "%",
    "&",
    "&&",
    "|",
    "||",
    "??",
    "^",
    "~",
    "!",
    "<",
    ">",
    "<=",
    "==",
    "===",
    "<<",
    ">>",
    "?",
    ":",
    "@d",
    "#p",
    "\n",
    "\r\n",
    "\u{2028}",
    " ",
    "// c\n",
    "/* c */",
    "/*\n*/",
    "```js\n",
    "\n```",
    "“",
    "#!x",
    "if",
    "else",
    "for",
    "for (;;)",
    "for (let i = 0; i < 9; i++)",
    "for (const x of y)",
    "for await (const x of y)",
    "while",
    "while (a)",
    "do",
    "break",
    "continue",
    "return",
    "throw",
    "try",
    "catch",
    "catch (e)",
    "finally",
    "switch",
    "case",
    "default",
    "function",
    "function f()",
    "function* g()",
    "async",
    "async function h()",
    "await",
    "yield",
    "class",
    "class A",
    "extends",
    "static",
    "static {",
    "get",
    "set",
    "constructor",
    "constructor(private p)",
    "super",
    "super()",
    "new",
    "this",
    "typeof",
    "void",
    "delete",
    "in",
    "of",
    "instanceof",
    "let",
    "const",
    "var",
    "using",
    "import",
    "import { tools } from 'holdfast:runtime'",
    "import type { T } from 't'",
    "export",
    "export default",
    "export const",
    "export {",
    "export * from 'x'",
    "type",
    "type T = ",
    "interface I {",
    "enum E { A, B = A }",
    "namespace N {",
    "declare",
    "abstract",
    "as",
    "as T",
    "satisfies",
    "is",
    "keyof",
    "infer",
    "readonly",
    "public",
    ": T",
    ": A<B<C>>",
    "<T>",
    "L:",
];

const PROGRAMS: [&str; 9] = [
    "const a: number = 1;\nfor (let i = 0; i < 5000; i++) a += i as any;\nreturn { a } satisfies object;",
    "export default async ({ n }: { n: number }) => { while (n--) { if (n % 2) continue; await tools.f(n!); } };",
    "class A<T> extends B<T> implements C { static x = () => 1; #p?: T; private readonly q: T = f();\n  [k()] = 1; constructor(public z: number) { super(z); } get g(): T { return this.#p! } static { x(); } }",
    "outer: for (const x of xs) { inner: for (;;) { try { if (x) break outer; continue inner; } catch { y(); } finally { z(); } } }",
    "function f<T,>(this: T, a?: T): a is T;\nfunction f(a: any) { return `a${a}b${() => { do g(); while (a) }}` }\nenum E { A, B = 'b', C = A | 2 }\nf(1)",
    "import { tools as t, params } from \"holdfast:runtime\";\nimport type { X } from 'x';\nconst f = <T extends X>(x: T):\n  T => x;\nexport { f as default };",
    "let a = b as C\n(d)\ntype X = Y\n;[e] = [f]\nx = <T>y\nconst { p, q: [r = 1], ...s } = o\n({ p, [q]: r } = o)",
    "Here it is:\n\n```ts\nconst total: number = 40 + 2;\nreturn total;\n```\n\nIt's “done”.",
    "{ \"a\": [1, 2, { b: /[/\"]}`/g }], 'c': `${`${1}`}`, async *d() { yield* await e?.[0]?.(); } }",
];

fn mutated() -> impl Strategy<Value = String> {
    let edit = (0..5_u8, 0.0..1.0_f64, 0.0..1.0_f64, proptest::sample::select(TOKENS));
    (proptest::sample::select(PROGRAMS.as_slice()), proptest::collection::vec(edit, 1..5)).prop_map(
        |(program, edits)| {
            let mut chars: Vec<char> = program.chars().collect();
            for (kind, from, to, token) in edits {
                let place = |part: f64| (part * chars.len() as f64) as usize;
                let (from, to) = (place(from).min(place(to)), place(from).max(place(to)));
                match kind {
                    0 => drop(chars.drain(from..to.min(from + 12))),
                    1 => drop(chars.splice(from..from, token.chars())),
                    2 => drop(chars.splice(from..to.min(from + 3), token.chars())),
                    3 => {
                        let copy: Vec<char> = chars[from..to].to_vec();
                        drop(chars.splice(to..to, copy));
                    }
                    _ => chars[from..to].reverse(),
                }
            }
            chars.into_iter().collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn soups_of_tokens(tokens in proptest::collection::vec(proptest::sample::select(TOKENS), 0..40), apart in any::<bool>()) {
        check(&tokens.join(if apart { " " } else { "" }));
    }

    #[test]
    fn programs_with_pieces_changed(source in mutated()) {
        check(&source);
    }

    #[test]
    fn any_text(source in ".{0,60}") {
        check(&source);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nests_of_anything(parts in proptest::collection::vec(proptest::sample::select(NESTS.as_slice()), 1..6), depth in 1..400_usize) {
        let opened: String = (0..depth).map(|at| parts[at % parts.len()].0).collect();
        let closed: String = (0..depth).rev().map(|at| parts[at % parts.len()].1).collect();
        check(&format!("{opened}1{closed}"));
    }
}

/// What opens and what closes.
const NESTS: [(&str, &str); 24] = [
    ("(", ")"),
    ("[", "]"),
    ("f(", ")"),
    ("a[", "]"),
    ("`${", "}`"),
    ("!", ""),
    ("typeof ", ""),
    ("a = ", ""),
    ("a ? b : ", ""),
    ("a ? ", " : b"),
    ("() => ", ""),
    ("() => {return ", "}"),
    ("function () {return ", "}"),
    ("class {a = ", "}"),
    ("async (a) => ", ""),
    ("({a: ", "})"),
    ("a || b && c | d ^ e & f == g < h << i + j * ", ""),
    ("2 ** ", ""),
    ("new ", ""),
    ("await ", ""),
    ("<T>", ""),
    ("(a = ", ")"),
    ("import('a', {with: ", "})"),
    ("f<A>(", ")"),
];

#[test]
fn the_fuzz_reaches_what_is_accepted() {
    for program in PROGRAMS {
        assert!(check(program), "{program}");
    }
}
