//! TypeScript's types become white space: the rest keeps its lines and columns.
//!
//! Each row is what was written, and what of it is left, with one space for each stretch of them.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at the first surprise"
)]

use holdfast::code::{Options, prepare};

/// The program's text in the module that is made of it. What is added to `source` keeps its last
/// statement from being the result.
fn erased(source: &str) -> String {
    let options = Options { guard: false, ambient: &[] };
    let source = format!("{source}\nlet end");
    let module = prepare(&source, &options).unwrap_or_else(|e| panic!("{source}: {e}")).module;
    let start = module.find("return async()=>{").expect("the opening") + "return async()=>{".len();
    let end = module.rfind("\nlet end").expect("the end");
    module[start..end].to_owned()
}

/// One space for each stretch of spaces.
fn squeezed(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}

/// Checks rows of a name, a source and what is left of it.
fn check(rows: &[(&str, &str, &str)]) {
    for (name, source, expected) in rows {
        assert_eq!(squeezed(&erased(source)), squeezed(expected), "{name}");
    }
}

/// Checks rows, and that no line becomes wider or narrower.
fn check_widths(rows: &[(&str, &str, &str)]) {
    check(rows);
    for (name, source, _) in rows {
        let widths = |text: &str| -> Vec<usize> {
            text.split('\n').map(|line| line.encode_utf16().count()).collect()
        };
        assert_eq!(widths(&erased(source)), widths(source), "{name}");
    }
}

#[test]
fn what_is_only_a_type_becomes_white_space() {
    let cases = [
        ("annotation", "let a: number = 1;", "let a         = 1;"),
        ("without a value", "let a: { b: string };", "let a               ;"),
        ("definite", "let a!: number;", "let a         ;"),
        (
            "parameters",
            "f = (a: A, b?: B, ...c: C[]) => 1, 0",
            "f = (a   , b    , ...c     ) => 1, 0",
        ),
        ("optional without a type", "f = (a?, b?) => 1, 0", "f = (a , b ) => 1, 0"),
        (
            "return type",
            "let f = function (a): a is string { return true };",
            "let f = function (a)              { return true };",
        ),
        (
            "asserts",
            "function f(a: unknown): asserts a is A {} 0",
            "function f(a         )                 {} 0",
        ),
        ("arrow's return type", "let f = (a): Promise<A> => a;", "let f = (a)             => a;"),
        ("generics", "let f = <T,>(a: T) => a;", "let f =     (a   ) => a;"),
        (
            "generics with a bound",
            "function f<T extends object = {}>(a: T) {} 0",
            "function f                       (a   ) {} 0",
        ),
        (
            "type arguments",
            "new Map<string, A<B>>(), f<A>(1), t<A>`x`, 0",
            "new Map              (), f   (1), t   `x`, 0",
        ),
        ("instantiation", "let f = g<string>;", "let f = g        ;"),
        ("as", "let a = b as unknown as C;", "let a = b                ;"),
        ("as const", "let a = [1] as const;", "let a = [1]         ;"),
        ("satisfies", "let a = { b } satisfies B;", "let a = { b }            ;"),
        ("not null", "let a = b!.c![0]!;", "let a = b .c [0] ;"),
        ("not null in a chain", "let a = b?.c!.d;", "let a = b?.c .d;"),
        ("angle assertion", "let a = b as A, c = 1;", "let a = b     , c = 1;"),
        ("this", "function f(this: A, a: B) {} 0", "function f(         a   ) {} 0"),
        ("only this", "function f(this: A) {} 0", "function f(       ) {} 0"),
        ("catch", "try {} catch (e: unknown) {}", "try {} catch (e         ) {}"),
        ("for of", "for (const a of b as C[]) a;", "for (const a of b       ) a;"),
        ("assignment", "(a as any) = 1; (b!) = 2; 0", "(a       ) = 1; (b ) = 2; 0"),
        (
            "destructuring",
            "const { a, b }: A = c, [d]: D = e;",
            "const { a, b }    = c, [d]    = e;",
        ),
        ("characters of all widths", "let a: 'é€😀' = 1;", "let a         = 1;"),
        ("line ends", "let a: {\n  b: C;\r\n} = 1;", "let a   \n       \r\n  = 1;"),
        ("comments of a type", "let a: /* c */ A = 1;", "let a            = 1;"),
    ];
    check_widths(&cases);
}

#[test]
fn statements_of_types_alone_become_empty() {
    let cases = [
        ("interface", "interface A { b: C }\n0", ";                   \n0"),
        ("alias", "type A = B | C\n0", ";             \n0"),
        (
            "export type",
            "export type A = B; export interface C {} 0",
            ";                  ;                     0",
        ),
        (
            "import type",
            "import type { A } from 'a'; import { type B } from 'b'; 0",
            ";                          ;                           0",
        ),
        (
            "export type names",
            "export type { A } from 'a'; export type * from 'b'; 0",
            ";                          ;                       0",
        ),
        (
            "declare",
            "declare const a: A; declare function f(): void; declare class B {} 0",
            ";                   ;                            ;                  0",
        ),
        (
            "declare module",
            "declare module 'a' { const b: C }\ndeclare global { var c: D }\n0",
            ";                                \n;                          \n0",
        ),
        (
            "overloads",
            "function f(a: A): A;\nfunction f(a: any) { return a } 0",
            ";                   \nfunction f(a     ) { return a } 0",
        ),
        (
            "namespace of types",
            "namespace A.B { export type C = D } 0",
            ";                                   0",
        ),
        ("declared enum", "declare enum A { B } 0", ";                    0"),
    ];
    check_widths(&cases);
}

#[test]
fn classes_lose_what_only_types_have() {
    let cases = [
        (
            "modifiers",
            "class A { public a = 1; private readonly b = 2; protected static c = 3 }",
            "class A { ;      a = 1; ;                b = 2; ;         static c = 3 }",
        ),
        (
            "static first",
            "class A { static readonly a = 1; static override b() {} }",
            "class A { static          a = 1; static          b() {} }",
        ),
        (
            "fields",
            "class A { a: B; b?: C; c!: D; d: E = 1; ['e']: F; #g: G = 2 }",
            "class A { a;  ; b;   ; c;   ; d    = 1; ['e'];  ; #g    = 2 }",
        ),
        (
            "declared and abstract",
            "abstract class A { declare a: B; abstract b: C; abstract c(): D; e() {} }",
            "         class A { ;             ;             ;                 e() {} }",
        ),
        (
            "index signature",
            "class A { [k: string]: unknown; a = 1 }",
            "class A { ;                     a = 1 }",
        ),
        (
            "overloads",
            "class A { constructor(a: B); constructor() {} m(): void; m() {} }",
            "class A { ;                  constructor() {} ;          m() {} }",
        ),
        ("optional method", "class A { m?(): void {} }", "class A { m ()       {} }"),
        (
            "heritage",
            "class A<T> extends B<T> implements C<T>, D { }",
            "class A    extends B                       { }",
        ),
        (
            "implements alone",
            "class A implements B { } ; (class implements C { })",
            "class A              { } ; (class              { })",
        ),
        (
            "accessors",
            "class A { private get a(): B { return 1 } public static async *b(): C {} }",
            "class A { ;       get a()    { return 1 } ;      static async *b()    {} }",
        ),
        (
            "names that are modifiers",
            "class A { declare = 1; readonly; static static = 2; override() {} }",
            "class A { declare = 1; readonly; static static = 2; override() {} }",
        ),
    ];
    check_widths(&cases);
}

#[test]
fn nothing_that_stood_apart_runs_together() {
    let cases = [
        ("as before a parenthesis", "let a = b as C\n(d)", "let a = b     ;\n(d)"),
        ("satisfies before a bracket", "a = b satisfies C\n[d].e", "a = b            ;\n[d].e"),
        ("as before a template", "a = b as C\n`d`", "a = b     ;\n`d`"),
        ("as in an arrow", "a = () => b as C\n(d)", "a = () => b     ;\n(d)"),
        ("as before a dot", "a = b as C\n+ d", "a = b     \n+ d"),
        ("a type between", "let a = b\ntype C = D\n(d)", "let a = b\n;         \n(d)"),
        (
            "an import between",
            "let a = b\nimport type { C } from 'c'\n;[d]",
            "let a = b\n;                         \n [d]",
        ),
        (
            "a modifier between",
            "class A { a = 1\n  public ['b'] = 2 }",
            "class A { a = 1\n  ;      ['b'] = 2 }",
        ),
        ("a field called get", "class A { get: B\n  c() {} }", "class A { get;  \n  c() {} }"),
        (
            "a field called static",
            "class A { static: B\n  c = 1 }",
            "class A { static;  \n  c = 1 }",
        ),
        ("the arrow on the next line", "let f = (a):\n  B => a;", "let f = (a  \n  ) => a;"),
        (
            "async and its parenthesis",
            "let f = async <\n  T>(a: T) => a;",
            "let f = async (\n    a   ) => a;",
        ),
        ("an angle assertion", "let a = <A>b;", "let a = ( b);"),
        ("return and its value", "return <A>\n  b", "return (  \n  b)"),
    ];
    check(&cases);
}

#[test]
fn enums_and_parameter_properties_are_written_as_javascript() {
    let cases = [
        (
            "numbers",
            "enum A { B, C = 5, D }",
            "var A=((A)=>{ A[A[\"B\"]=0]=\"B\"; A[\"C\"]=5;typeof A[\"C\"]==\"string\"||(A[A[\"C\"]]=\"C\"); A[A[\"D\"]=A[\"C\"]+1]=\"D\"; return A})(A||{});",
        ),
        (
            "texts",
            "const enum A { B = 'b', 'c-d' = `e` }",
            "var A=((A)=>{ A[\"B\"]='b'; A['c-d']=`e`; return A})(A||{});",
        ),
        (
            "members by name",
            "enum A { B = 1, C = B | 2 }",
            "var A=((A)=>{ A[\"B\"]=1;typeof A[\"B\"]==\"string\"||(A[A[\"B\"]]=\"B\"); A[\"C\"]=A.B | 2;typeof A[\"C\"]==\"string\"||(A[A[\"C\"]]=\"C\"); return A})(A||{});",
        ),
        (
            "in a block",
            "{ enum A { B } }",
            "{ let A=((A)=>{ A[A[\"B\"]=0]=\"B\"; return A})({}); }",
        ),
        (
            "parameter properties",
            "class A { constructor(private a: B, readonly c = 1, d) {} }",
            "class A { constructor(        a   ,          c = 1, d) {this.a=a;this.c=c;} }",
        ),
        (
            "after super",
            "class A extends B { constructor(public a) { super(a); f() } }",
            "class A extends B { constructor(       a) { super(a);;this.a=a; f() } }",
        ),
    ];
    check(&cases);
}

#[test]
fn what_cannot_be_erased_is_refused_at_its_place() {
    let cases = [
        ("namespace", "let a;\nnamespace N { export const b = 1 }", "namespace", 2, 1),
        ("decorator", "@d class A {}", "decorators", 1, 1),
        ("decorator of a member", "class A {\n  @d a = 1 }", "decorators", 2, 3),
        ("accessor", "class A { accessor a = 1 }", "accessor", 1, 11),
        ("import equals", "import a = b.c;", "import", 1, 1),
        ("export equals", "export = 1;", "export", 1, 1),
        ("enum after a text", "enum A { B = 'b', C }", "enum", 1, 19),
        (
            "super in a branch",
            "class A extends B { constructor(private a) { if (a) super() } }",
            "super",
            1,
            32,
        ),
        ("JSX", "let a = 1;\nreturn <b>c</b>;", "JSX", 2, 8),
        ("JSX after a type", "let a: A = 1;\nreturn f(<b/>);", "JSX", 2, 10),
    ];
    for (name, source, word, line, column) in cases {
        let options = Options { guard: true, ambient: &[] };
        let refusal = prepare(source, &options).expect_err(name);
        assert!(refusal.message.contains(word), "{name}: {}", refusal.message);
        let place = refusal.place.expect(name);
        assert_eq!((place.line, place.column), (line, column), "{name}: {}", refusal.message);
    }
}
