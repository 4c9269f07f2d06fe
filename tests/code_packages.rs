//! A package's modules are linked as modules are, and what cannot be is refused with file and place.
//!
//! `tests/code/packages.test.mjs` runs what comes out.
#![expect(
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "a test ends at the first surprise"
)]

use std::collections::BTreeMap;

use holdfast::code::{Export, Options, PackageRefusal, PreparedPackage, prepare_package};

fn prepared(modules: &[(&str, &str)]) -> Result<PreparedPackage, PackageRefusal> {
    let modules: BTreeMap<String, String> =
        modules.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    prepare_package(&modules, &Options { guard: true, ambient: &["tools", "params"] })
}

#[test]
fn the_exports_of_the_entry_are_listed() {
    let package = prepared(&[
        (
            "index.ts",
            "export { a, b as bee } from './x'; export * from './y'; export type T = 1;\n\
             export default async () => 1; export const n = 1, f = () => 2; export class C {}\n\
             export function g() {} export { tools as t } from 'holdfast:runtime'; export enum E { A }",
        ),
        ("x.js", "export function a() {} export const b = 1;"),
        ("y.js", "export const y = function () {}; export default 1; export const [p, { q }] = [1, {}];"),
    ])
    .expect("a package");
    let exports: Vec<(&str, bool)> = package
        .exports
        .iter()
        .map(|Export { name, is_function }| (name.as_str(), *is_function))
        .collect();
    assert_eq!(
        exports,
        [
            ("C", false),
            ("E", false),
            ("a", true),
            ("bee", false),
            ("default", true),
            ("f", true),
            ("g", true),
            ("n", false),
            ("p", false),
            ("q", false),
            ("t", false),
            ("y", true),
        ]
    );
}

#[test]
fn modules_keep_their_lines_under_their_own_names() {
    let package = prepared(&[
        ("./index.js", "import { f } from './lib/x';\n\n  f();"),
        ("lib/x.ts", "export const f: F = () => {\n  while (g()) h();\n};"),
        ("unused.js", "1"),
    ])
    .expect("a package");
    let names: Vec<&str> = package.modules.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(names, ["program.js", "package/index.js", "package/lib/x.ts.js"]);
    assert_eq!(package.warnings, ["unused.js is not imported by the entry, and never runs."]);
    let text = &package.modules[2].text;
    let column =
        u32::try_from(text.lines().nth(1).expect("a line").find("h()").expect("a call") + 1);
    let (path, at) =
        package.position("package/lib/x.ts.js", 2, column.expect("a column")).expect("a position");
    assert_eq!((path, at.line, at.column), ("lib/x.ts", 2, 15));
    assert_eq!(package.position("program.js", 1, 1), None);
    let said = "Failed to start Worker:\nUncaught SyntaxError: Identifier 'f' has already been declared\n  at package/index.js:3:2";
    let refused = package.refusal_from_engine(said).expect("a refusal");
    assert_eq!(refused.path, "index.js");
    assert_eq!(
        refused.refusal.message,
        "line 3, column 3: Identifier 'f' has already been declared"
    );
}

#[test]
fn what_cannot_be_linked_is_refused_with_file_and_place() {
    let cases: [(&str, &[(&str, &str)], &str, &str, Option<(u32, u32)>); 22] = [
        (
            "a missing module",
            &[("index.js", "1;\n import './x'")],
            "index.js",
            "no module \"x\"",
            Some((2, 2)),
        ),
        (
            "a bare name",
            &[("index.js", "import fs from 'fs'")],
            "index.js",
            "import of \"fs\"",
            Some((1, 1)),
        ),
        (
            "out of the package",
            &[("index.js", "import '../x'")],
            "index.js",
            "leaves the package",
            Some((1, 1)),
        ),
        (
            "out of it from a folder",
            &[("a/b.js", "import '../../x'")],
            "a/b.js",
            "leaves the package",
            Some((1, 1)),
        ),
        (
            "a missing export",
            &[("index.js", "import { a, b } from './x'"), ("x.js", "export const a = 1, c = 2")],
            "index.js",
            "it exports a, c",
            Some((1, 13)),
        ),
        (
            "a missing default",
            &[
                ("index.js", "import x from './x'"),
                ("x.js", "export * from './y'"),
                ("y.js", "export default 1"),
            ],
            "index.js",
            "it exports nothing",
            Some((1, 8)),
        ),
        (
            "a missing re-export",
            &[("index.js", "export const q = 1;\nexport { b as c } from './x'"), ("x.js", "")],
            "index.js",
            "import of `b`",
            Some((2, 10)),
        ),
        (
            "a circle",
            &[("index.js", "import './a'"), ("a.js", "import './b'"), ("b.js", "1\nimport './a'")],
            "b.js",
            "a.js → b.js → a.js",
            Some((2, 1)),
        ),
        (
            "a circle of one",
            &[("index.js", "import './index.js'")],
            "index.js",
            "index.js → index.js",
            Some((1, 1)),
        ),
        (
            "a circle beside the entry",
            &[("index.js", ""), ("a.js", "export * from './b'"), ("b.js", "export * from './a'")],
            "b.js",
            "circle",
            Some((1, 1)),
        ),
        (
            "two meanings",
            &[
                ("index.js", "import { a } from './x'"),
                ("x.js", "export * from './y'; export * from './z'"),
                ("y.js", "export const a = 1"),
                ("z.js", "export const a = 2"),
            ],
            "index.js",
            "from two modules",
            Some((1, 10)),
        ),
        (
            "a name that the runtime lacks",
            &[("index.js", "import { nope } from 'holdfast:runtime'")],
            "index.js",
            "it has tools, params",
            Some((1, 10)),
        ),
        (
            "an export of nothing",
            &[("index.js", "export { nope }")],
            "index.js",
            "no such name",
            Some((1, 10)),
        ),
        (
            "a syntax error",
            &[("index.js", "1"), ("x.ts", "let a;\nlet b = ;")],
            "x.ts",
            "Unexpected token",
            Some((2, 9)),
        ),
        (
            "a fence",
            &[("index.js", "```js\n1\n```\nimport('x')")],
            "index.js",
            "import()",
            Some((4, 1)),
        ),
        ("return at the top", &[("index.js", "return 1")], "index.js", "", Some((1, 1))),
        (
            "import() of its own",
            &[("index.js", "await import('./x.js')"), ("x.js", "")],
            "index.js",
            "import()",
            Some((1, 7)),
        ),
        ("no entry", &[("a.js", ""), ("b.js", "")], "", "index or main", None),
        ("no module", &[], "", "at least one", None),
        ("another kind of file", &[("a.json", "{}")], "a.json", "ends with .js", None),
        ("a path that leaves", &[("../a.js", "")], "../a.js", "path in the package", None),
        ("one name twice", &[("./a.js", ""), ("a.js", "")], "a.js", "two modules", None),
    ];
    for (name, modules, path, text, place) in cases {
        let refused = prepared(modules).expect_err(name);
        assert_eq!(refused.path, path, "{name}: {refused}");
        assert!(refused.refusal.message.contains(text), "{name}: {refused}");
        assert_eq!(
            refused.refusal.place.map(|at| (at.line, at.column)),
            place,
            "{name}: {refused}"
        );
    }
}

#[test]
fn types_make_no_circle_and_need_no_export() {
    let package = prepared(&[
        ("index.ts", "import { T, v } from './a'; export const x: T = v;"),
        (
            "a.ts",
            "import type { x } from './index'; import { U } from './b'; export interface T { u: U } export const v = 1;",
        ),
        ("b.ts", "import { T } from './a'; type U = T; export { U };"),
    ]);
    assert!(package.is_ok(), "{package:?}");
}

#[test]
fn a_package_of_many_modules_is_linked_or_refused() {
    let chain = |modules: usize| -> Vec<(String, String)> {
        (0..modules)
            .map(|n| {
                let next = n + 1;
                let import = if next < modules {
                    format!("export * from './m{next}';")
                } else {
                    String::new()
                };
                let path = if n == 0 { "index.js".to_owned() } else { format!("m{n}.js") };
                (path, format!("{import} export const v{n} = {n};"))
            })
            .collect()
    };
    for (modules, fits) in [(256, true), (257, false)] {
        let texts = chain(modules);
        let texts: Vec<(&str, &str)> =
            texts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(prepared(&texts).is_ok(), fits, "{modules}");
    }
}
