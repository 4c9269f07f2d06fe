//! The program is found in what was sent, and its result is what its author meant.
//!
//! Every case of `tests/cases/sandbox/code-recovery.json` and the static ones of `isolation.json` are
//! decided here without running anything; `tests/code/programs.test.mjs` runs them.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at the first surprise"
)]

use holdfast::code::{Options, Prepared, Refusal, prepare};
use serde_json::Value;

const AMBIENT: [&str; 4] = ["tools", "params", "run", "step"];

fn prepared(source: &str) -> Result<Prepared, Refusal> {
    prepare(source, &Options { guard: false, ambient: &AMBIENT })
}

/// What stands between the opening and the last brace.
fn body(source: &str) -> String {
    let module = prepared(source).unwrap_or_else(|e| panic!("{source}: {e}")).module;
    let start = module.find("return async()=>{").expect("the opening") + "return async()=>{".len();
    module[start..module.len() - 2].to_owned()
}

#[test]
fn every_case_is_accepted_or_refused_as_it_says() {
    let files = [
        include_str!("cases/sandbox/code-recovery.json"),
        include_str!("cases/sandbox/isolation.json"),
    ];
    let mut refused = 0;
    for file in files {
        let cases: Vec<Value> = serde_json::from_str(file).expect("a list of cases");
        assert!(cases.len() > 10);
        for case in cases {
            let name = case["name"].as_str().expect("a name");
            let expect = &case["expect"];
            let outcome = prepared(case["code"].as_str().expect("code"));
            let is_syntax_error = expect["kind"] == "syntax_error";
            match outcome {
                Ok(_) => assert!(!is_syntax_error, "{name}: was accepted"),
                Err(refusal) => {
                    refused += 1;
                    assert_ne!(expect["outcome"], "completed", "{name}: {refusal}");
                    for text in expect["messageIncludes"].as_array().into_iter().flatten() {
                        let text = text.as_str().expect("a text");
                        assert!(refusal.message.contains(text), "{name}: {refusal}");
                    }
                    assert!(refusal.place.is_some(), "{name}: {refusal}");
                }
            }
        }
    }
    assert_eq!(refused, 7);
}

#[test]
fn the_opening_is_one_line() {
    let prepared = prepared("let a;\nlet b;").expect("a program");
    assert_eq!(
        prepared.module,
        "export default ($g,$r)=>{const {tools,params,run,step}=$r;return async()=>{let a;\nlet b;\n}}"
    );
}

#[test]
fn the_result_is_what_was_meant() {
    let cases = [
        ("an expression", "1 + 1", "return (1 + 1)\n"),
        ("a comment after it", "1 // one", "return (1) // one\n"),
        (
            "several, and a type after them",
            "f(); g(); type A = B",
            "f(); return (g()); ;         \n",
        ),
        ("statements", "let a = 1; if (a) a", "let a = 1; if (a) a\n"),
        ("an empty statement after it", "1;;", "return (1);;\n"),
        (
            "functions below it",
            "main();\nasync function main() {}",
            "return (main());\nasync function main() {}\n",
        ),
        ("a lone arrow", "async ({ n }) => n", "return (async ({ n }) => n)($r.params)\n"),
        ("in parentheses", "((a) => a);", "return (((a) => a))($r.params);\n"),
        ("with a type", "((a) => a) as F;", "return (((a) => a)     )($r.params);\n"),
        (
            "a lone function",
            "function f(a) { return a }",
            "function f(a) { return a }\nreturn f($r.params)",
        ),
        (
            "beside types",
            "interface A { b: C }\nfunction f(a: A) {}",
            ";                   \nfunction f(a   ) {}\nreturn f($r.params)",
        ),
        (
            "a function without a name",
            "async function (a) { return a }",
            "return (async function (a) { return a })($r.params)\n",
        ),
        ("two functions", "function f() {} function g() {}", "function f() {} function g() {}\n"),
        (
            "export default function",
            "export default function f(a) {}",
            ";              function f(a) {}\nreturn f($r.params)",
        ),
        (
            "without a name",
            "export default function () {}\n(1)",
            "const $d={default:function () {}}.default;\n(1)\nreturn $d($r.params)",
        ),
        (
            "export default value",
            "export default { a: 1 };",
            "const $d={default:{ a: 1 }}.default;;\nreturn typeof $d===\"function\"?$d($r.params):$d",
        ),
        (
            "export default class",
            "export default class A {}",
            ";              class A {}\nreturn A",
        ),
        (
            "export as default",
            "const a = 1;\nexport { a as default };",
            "const a = 1;\n;                       \nreturn typeof a===\"function\"?a($r.params):a",
        ),
        (
            "other exports",
            "export const a = 1;\nexport function f() {}\nexport { a as b };\na",
            "       const a = 1;\n       function f() {}\n;                 \nreturn (a)\n",
        ),
        (
            "a lone exported function",
            "export async function f() {}",
            "       async function f() {}\nreturn f($r.params)",
        ),
        ("an object", "{ \"a\": 1 }", "return ({ \"a\": 1 })\n"),
        ("with a semicolon", "{ \"a\": 1 };", "return ({ \"a\": 1 }) \n"),
        ("an object that parses as a block", "{ total: 42 }", "return ({ total: 42 })\n"),
        ("a block", "{ let a = 1 }", "{ let a = 1 }\n"),
        ("an empty block", "{}", "{}\n"),
        ("a text", "'a'", "return ('a')\n"),
        ("nothing", "// nothing", "// nothing\n"),
        ("an empty text", "", "\n"),
        ("a hashbang", "#!/usr/bin/env node\n1", "                   \nreturn (1)\n"),
        ("a class", "class A {}", "class A {}\n"),
    ];
    for (name, source, expected) in cases {
        assert_eq!(body(source), expected, "{name}");
    }
}

#[test]
fn functions_that_nobody_calls_are_warned_about() {
    let warnings = |source| prepared(source).expect("a program").warnings.len();
    assert_eq!(warnings("function f() {} async function g() {}"), 1);
    assert_eq!(warnings("function f() {} f()"), 0);
    assert_eq!(warnings("function f() {}"), 0);
    assert_eq!(warnings(""), 0);
}

#[test]
fn fences_are_looked_for_only_where_they_are_needed() {
    let spaces = |n: usize| " ".repeat(n);
    let cases = [
        ("a label in capitals", "```JS\n1\n```", format!("{}\nreturn (1)\n   \n", spaces(5))),
        (
            "a label with more",
            "```ts title=a.ts\n1\n```",
            format!("{}\nreturn (1)\n   \n", spaces(16)),
        ),
        (
            "the first of ours",
            "```\n1\n```\n```py\n2\n```\n```js\n3\n```",
            format!(
                "{}\n \n{}\n{}\n \n{}\n{}\nreturn (3)\n   \n",
                spaces(3),
                spaces(3),
                spaces(5),
                spaces(3),
                spaces(5)
            ),
        ),
        (
            "else the first without a label",
            "a b\n```sh\n1\n```\n```\n2\n```",
            format!(
                "{}\n{}\n \n{}\n{}\nreturn (2)\n   \n",
                spaces(3),
                spaces(5),
                spaces(3),
                spaces(3)
            ),
        ),
        ("never closed", "```js\n1", format!("{}\nreturn (1)\n", spaces(5))),
        (
            "four marks hold three",
            "````js\n/*\n```\n*/ 1\n````",
            format!("{}\n/*\n```\n*/ return (1)\n    \n", spaces(6)),
        ),
        ("tildes", "~~~js\n1\n~~~", format!("{}\nreturn (1)\n   \n", spaces(5))),
        ("on one line", "```js 1```", format!("{}return (1){}\n", spaces(6), spaces(3))),
        (
            "indented",
            "a:\n  ```js\n  1\n  ```",
            format!("{}\n{}\n  return (1)\n     \n", spaces(2), spaces(7)),
        ),
        (
            "line ends of others",
            "a b\r\n```js\r\n1\r\n```",
            format!("{}\r\n{}\r\nreturn (1)\r\n   \n", spaces(3), spaces(5)),
        ),
        (
            "prose in many characters",
            "é😀 a\n```js\n1\n```",
            format!("{}\n{}\nreturn (1)\n   \n", spaces(8), spaces(5)),
        ),
        (
            "an expression in it",
            "```json\n{ \"a\": 1 }\n```\n```\n{ \"a\": 2 }\n```",
            format!(
                "{}\n{}\n{}\n{}\nreturn ({{ \"a\": 2 }})\n   \n",
                spaces(7),
                spaces(10),
                spaces(3),
                spaces(3)
            ),
        ),
        ("in a text", "const a = \"```js\";", "const a = \"```js\";\n".to_owned()),
        (
            "in a comment",
            "/*\n```js\n1\n```\n*/ 2",
            "/*\n```js\n1\n```\n*/ return (2)\n".to_owned(),
        ),
        ("a template as a tag, and no fence", "`a``b`", "return (`a``b`)\n".to_owned()),
    ];
    for (name, source, expected) in cases {
        assert_eq!(body(source), expected, "{name}");
    }
}

#[test]
fn imports_become_bindings() {
    let cases = [
        (
            "names",
            "import { tools, params as p } from 'holdfast:runtime'; 1",
            "const {tools:tools,params:p}=$r;;",
        ),
        (
            "everything",
            "import * as h from \"holdfast:runtime\"; 1",
            "const h={__proto__:null,...$r};;",
        ),
        (
            "the default",
            "import h, { run } from 'holdfast:runtime'; 1",
            "const h={__proto__:null,...$r};const {run:run}=$r;;",
        ),
        ("nothing", "import 'holdfast:runtime'; 1", ";"),
        (
            "a type among them",
            "import { type Tools, run } from 'holdfast:runtime'; 1",
            "const {run:run}=$r;;",
        ),
        (
            "below",
            "run();\nimport { run } from 'holdfast:runtime'",
            "const {run:run}=$r;return (run());\n;",
        ),
    ];
    for (name, source, expected) in cases {
        let body = body(source);
        assert!(body.starts_with(expected), "{name}: {body}");
    }
}

#[test]
fn names_of_ours_are_none_of_the_program() {
    let module =
        prepared("let $r = 1, \\u0024d = 2, $t3;\nexport default 1").expect("a program").module;
    assert!(module.starts_with("export default ($g1,$r1)=>{const {tools,"), "{module}");
    assert!(module.contains("const $d1={default:1}"), "{module}");
}

#[test]
fn a_byte_order_mark_is_dropped() {
    assert_eq!(body("\u{feff}1"), "return (1)\n");
}
