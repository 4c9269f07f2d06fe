//! What is nested too deep is refused before the parser's stack can overflow; what is only long is not.
#![expect(
    clippy::disallowed_methods,
    clippy::format_collect,
    reason = "a test ends at the first surprise"
)]

use std::time::{Duration, Instant};

use holdfast::code::{Options, prepare};

const OPTIONS: Options = Options { guard: true, ambient: &["tools"] };

/// Whether `source` is accepted; a refusal must be the one for depth.
fn accepted(name: &str, source: &str) -> bool {
    match prepare(source, &OPTIONS) {
        Ok(_) => true,
        Err(refusal) => {
            assert!(refusal.message.contains("nested too deep"), "{name}: {}", refusal.message);
            assert!(refusal.message.contains("line 1"), "{name}: {}", refusal.message);
            false
        }
    }
}

/// What opens, what stands inside, what closes.
const NESTS: [(&str, &str, &str, &str); 45] = [
    ("parentheses", "(", "1", ")"),
    ("lists", "[", "", "]"),
    ("objects", "({a: ", "1", "})"),
    ("blocks", "{", "", "}"),
    ("functions", "function f() {", "", "}"),
    ("function expressions", "(function () {return ", "1", "})"),
    ("arrows", "() => ", "1", ""),
    ("arrows with blocks", "() => {return ", "1", "}"),
    ("arrows in parentheses", "(() => ", "1", ")"),
    ("async arrows", "async (a) => ", "1", ""),
    ("calls in calls", "f(", "1", ")"),
    ("indices", "a[", "1", "]"),
    ("templates", "`${", "1", "}`"),
    ("not", "!", "1", ""),
    ("minus", "- ", "1", ""),
    ("typeof", "typeof ", "1", ""),
    ("await", "await ", "1", ""),
    ("new", "new ", "A", ""),
    ("powers", "2 ** ", "1", ""),
    ("assignments", "a = ", "1", ""),
    ("conditionals", "a ? b : ", "1", ""),
    ("conditionals to the left", "a ? ", "1", " : b"),
    ("all operators", "a || b && c | d ^ e & f == g < h << i + j * k ** -(", "1", ")"),
    ("if", "if (a) ", ";", ""),
    ("else if", "if (a) {} else ", "{}", ""),
    ("for", "for (;;) ", ";", ""),
    ("for of", "for (a of b) ", ";", ""),
    ("while", "while (a) ", ";", ""),
    ("do", "do ", ";", " while (a);"),
    ("try", "try {", "", "} catch {}"),
    ("switch", "switch (a) {case 1: ", "", "}"),
    ("classes", "class A {m() {", "", "}}"),
    ("heritage", "(class extends ", "A", "{})"),
    ("fields", "(class {a = ", "1", "})"),
    ("patterns", "([", "a", "]) => 1"),
    ("defaults", "(a = ", "1", ") => 1"),
    ("defaults that are none", "(a = ", "1", ")"),
    ("types in parentheses", "(a as (", "B", "))"),
    ("type arguments", "f<", "A", ">()"),
    ("types of functions", "(a as () => ", "B", ")"),
    ("types of objects", "(a as {a: ", "B", "})"),
    ("conditional types", "(a as A extends B ? C : ", "D", ")"),
    ("assertions", "<T>", "1", ""),
    ("less than", "a < (", "1", ")"),
    ("import types", "(a as import('a', {with: {b: ", "1", "}}))"),
];

fn nested((_, open, inside, close): (&str, &str, &str, &str), depth: usize) -> String {
    format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn ten_thousand_levels_of_anything_are_refused() {
    for nest in NESTS {
        assert!(!accepted(nest.0, &nested(nest, 10_000)), "{}", nest.0);
    }
}

#[test]
fn what_people_nest_is_accepted() {
    for nest in NESTS {
        // Patterns and types open where they cannot be nested like this.
        let outcome = prepare(&nested(nest, 40), &OPTIONS);
        let message = outcome.err().map(|refusal| refusal.message).unwrap_or_default();
        assert!(!message.contains("nested too deep"), "{}: {message}", nest.0);
    }
}

#[test]
fn what_is_only_long_is_accepted() {
    let cases = [
        ("lines", "let a = 1;\n".repeat(100_000)),
        ("lines without semicolons", "x = a\n".repeat(20_000)),
        ("calls without semicolons", "f()\n".repeat(20_000)),
        ("terms", format!("{}1", "a + ".repeat(20_000))),
        ("members", format!("a{}", ".b()".repeat(20_000))),
        ("elements", format!("[{}]", "a ? b : c, ".repeat(20_000))),
        ("properties", format!("({{{}}})", "if: a => b, for: !c,\n".repeat(10_000))),
        ("comparisons", "if (a < b && c < d) e();\n".repeat(10_000)),
        ("ifs", "if (a) b; else c;\n".repeat(20_000)),
        ("ifs with blocks", "if (a) { b } else { c }\n".repeat(20_000)),
        ("loops", "for (;;) { while (a) b(); }\n".repeat(10_000)),
        ("functions", "function f() { return !a }\n".repeat(10_000)),
        ("cases", format!("switch (a) {{ {} }}", "case 'b': case !c: d();\n".repeat(10_000))),
        ("case after case", format!("switch (a) {{ {} e() }}", "case 'b':\n".repeat(10_000))),
        (
            "members of a class",
            format!("class A {{ {} }}", "a = !b\n c() { return d }\n static e = 1\n".repeat(5_000)),
        ),
        (
            "fields with types",
            format!("class A {{ {} }}", "a: Map<string, Array<B>> = new Map()\n".repeat(5_000)),
        ),
        (
            "members of an interface",
            format!("interface A {{ {} }}", "a: B[]\n c?: D;\n".repeat(10_000)),
        ),
        ("regular expressions", "a.replace(/[(\\[]'\"`/g, '')\n".repeat(10_000)),
        ("after braces", "if (a) {}\n/b(c)/.test(d);\n".repeat(200)),
        ("divisions", "a = b / c / (d / e)\n".repeat(10_000)),
        ("templates", "`${a} / ${b}'` + c;\n".repeat(10_000)),
        ("texts with brackets", "a(\"((((\", '{{{{', `[[[[`); // ((((\n".repeat(10_000)),
        ("text of as many brackets", format!("'{}'", "(".repeat(100_000))),
        ("a comment of as many", format!("/*{}*/ 1", "(".repeat(100_000))),
        ("a chain of else if", format!("{} {{}}", "if (a) {} else ".repeat(400))),
        ("a call around all", format!("(() => {{ {} }})()", "a = (b);\n".repeat(10_000))),
    ];
    for (name, source) in cases {
        assert!(accepted(name, &source), "{name}");
    }
}

#[test]
fn time_grows_with_the_length() {
    type Grow = fn(usize) -> String;
    let cases: [(&str, Grow); 12] = [
        ("lines", |n| "let a = b.c(d) + 1;\n".repeat(n)),
        ("terms", |n| format!("{}1", "a + ".repeat(n))),
        ("members", |n| format!("a{}", ".b".repeat(n))),
        ("loops", |n| "for (let i = 0; i < 9; i++) while (a) b++;\n".repeat(n)),
        ("names like ours", |n| (0..n).map(|at| format!("$t{at};")).collect()),
        ("types", |n| "let a: B<C> = d as E\n(f);\n".repeat(n)),
        ("fences", |n| "```x\n".repeat(n)),
        ("backticks", |n| "`".repeat(n)),
        ("an error at the end", |n| format!("{}let a = ;", "let a;\n".repeat(n))),
        ("members of an enum", |n| format!("enum A {{ {} }}", "B,".repeat(n))),
        ("functions", |n| "function f() { f() }\n".repeat(n)),
        ("tries inside of each other", |n| {
            format!("{}{}1{}", "(a = ".repeat(30), "b + ".repeat(n), ")".repeat(30))
        }),
    ];
    for (name, grow) in cases {
        let (short, long) = (grow(1_000), grow(16_000));
        let time = |source: &str| -> Duration {
            let start = Instant::now();
            drop(prepare(source, &OPTIONS));
            start.elapsed()
        };
        // Sixteen times the text: a quadratic case would take 256 times as long, each time. A busy
        // machine makes one attempt slow, not all of them.
        let mut seen = Vec::new();
        let grows = (0..20).any(|_| {
            seen.push((time(&short), time(&long)));
            seen.last().is_some_and(|(short, long)| *long < *short * 64)
        });
        assert!(grows, "{name}: {seen:?}");
    }
}
