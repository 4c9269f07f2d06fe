//! What the program's result is, and where its imports and exports go: the form of the module.
//!
//! `export default (guard, runtime) => { const {…} = runtime; return async () => { <body> } }`,
//! all of it on line 1 up to the body. So the program may declare every ambient name for itself,
//! it has no `this` and no `arguments` of ours, and nothing of it is kept between two calls.

use std::fmt::Write as _;

use oxc_ast::ast::{
    Declaration, ExportDefaultDeclaration, ExportDefaultDeclarationKind, Expression,
    ImportDeclaration, ImportDeclarationSpecifier, Program, Statement,
};
use oxc_span::{GetSpan, Span};

use super::edits::Edits;
use super::erase::is_erased;
use super::names::Names;
use super::recover::Tree;
use super::survey::Faults;

/// The one module that a program can import.
pub(super) const RUNTIME_MODULE: &str = "holdfast:runtime";

/// What stands before and after the program's text, inside of the function it is the body of.
#[derive(Debug, Default)]
pub(super) struct Form {
    /// Bindings of what the program imports.
    pub(super) before: String,
    /// Returns the result, where the program's text does not.
    pub(super) after: String,
    pub(super) warnings: Vec<String>,
}

/// What is known while the form is found.
pub(super) struct Context<'c, 't> {
    pub(super) names: &'c Names,
    pub(super) ambient: &'c [&'c str],
    pub(super) edits: &'c mut Edits<'t>,
    pub(super) faults: &'c mut Faults,
}

/// Outside of everything that the program opens.
const OUTERMOST: u32 = 0;

impl Context<'_, '_> {
    /// Gives `tree` its form.
    pub(super) fn form(&mut self, tree: &Tree<'_>) -> Form {
        match tree {
            Tree::Program(program) => self.program(program),
            Tree::Expression(expression) => {
                self.result(expression, is_function(expression));
                Form::default()
            }
        }
    }

    /// Gives a module of a package its form, its exports and imports aside.
    pub(super) fn module(&mut self, program: &Program<'_>) {
        if let Some(hashbang) = &program.hashbang {
            self.edits.blank(hashbang.span);
        }
        for statement in program.body.iter().filter(|statement| !is_erased(statement)) {
            match statement {
                Statement::ImportDeclaration(_)
                | Statement::ExportAllDeclaration(_)
                | Statement::ExportFromDeclaration(_)
                | Statement::ExportNamedDeclaration(_) => {
                    self.edits.blank_statement(statement.span());
                }
                Statement::ExportDefaultDeclaration(it) => {
                    self.export_default(it);
                }
                Statement::ExportDeclaration(it) => {
                    self.edits.blank(Span::new(it.span.start, it.declaration.span().start));
                }
                _ => {}
            }
        }
    }

    fn program(&mut self, program: &Program<'_>) -> Form {
        let mut form = Form::default();
        if let Some(hashbang) = &program.hashbang {
            self.edits.blank(hashbang.span);
        }
        let mut exported = None;
        let mut own = Vec::new();
        for statement in program.body.iter().filter(|statement| !is_erased(statement)) {
            match statement {
                Statement::ImportDeclaration(it) => self.import(it, &mut form.before),
                Statement::ExportAllDeclaration(it) => {
                    self.refuse_module(it.span, &it.source.value);
                }
                Statement::ExportFromDeclaration(it) => {
                    self.refuse_module(it.span, &it.source.value);
                }
                Statement::ExportNamedDeclaration(it) => {
                    self.edits.blank_statement(it.span);
                    for specifier in &it.specifiers {
                        if specifier.exported.name() == "default" {
                            exported = Some(Exported::Value(specifier.local.name().to_string()));
                        }
                    }
                }
                Statement::ExportDefaultDeclaration(it) => exported = Some(self.export_default(it)),
                Statement::ExportDeclaration(it) => {
                    self.edits.blank(Span::new(it.span.start, it.declaration.span().start));
                    own.push(statement);
                }
                Statement::TSExportAssignment(it) => self
                    .faults
                    .add(it.span.start, "export = is not supported; write `export default`"),
                Statement::TSNamespaceExportDeclaration(it) => {
                    self.faults.add(it.span.start, "export as namespace is not supported");
                }
                Statement::EmptyStatement(_) => {}
                _ => own.push(statement),
            }
        }
        let params = format!("{}.params", self.names.runtime());
        if let Some(exported) = exported {
            form.after = match exported {
                Exported::Function(name) => format!("return {name}({params})"),
                Exported::Class(name) => format!("return {name}"),
                Exported::Value(name) => {
                    format!("return typeof {name}===\"function\"?{name}({params}):{name}")
                }
            };
            return form;
        }
        if let [statement] = own.as_slice()
            && let Some(name) = declared_function(statement)
        {
            form.after = format!("return {name}({params})");
            return form;
        }
        // A function declared below is there from the start: what stands before it comes last.
        let last = own.iter().rev().find(|statement| declared_function(statement).is_none());
        match last {
            Some(Statement::ExpressionStatement(it)) => {
                self.result(&it.expression, own.len() == 1 && is_function(&it.expression));
            }
            Some(_) => {}
            None if own.is_empty() => {
                if let Some(directive) = program.directives.last() {
                    self.value(directive.expression.span, ")");
                }
            }
            None => form.warnings.push(
                "Nothing was run: the program only declares functions. End it with a call, or \
                 `export default` the one to run."
                    .to_owned(),
            ),
        }
        form
    }

    /// Makes `expression` the result; a lone function is called first.
    fn result(&mut self, expression: &Expression<'_>, called: bool) {
        if called {
            self.value(expression.span(), format!(")({}.params)", self.names.runtime()));
        } else {
            self.value(expression.span(), ")");
        }
    }

    fn value(&mut self, span: Span, end: impl Into<String>) {
        self.edits.open(span.start, OUTERMOST, "return (");
        self.edits.close(span.end, OUTERMOST, end.into());
    }

    fn import(&mut self, import: &ImportDeclaration<'_>, before: &mut String) {
        if import.source.value != RUNTIME_MODULE || import.phase.is_some() {
            self.refuse_module(import.span, &import.source.value);
            return;
        }
        self.edits.blank_statement(import.span);
        let runtime = self.names.runtime();
        let mut named = Vec::new();
        for specifier in import.specifiers.iter().flatten() {
            match specifier {
                ImportDeclarationSpecifier::ImportDefaultSpecifier(it) => {
                    let _ =
                        write!(before, "const {}={{__proto__:null,...{runtime}}};", it.local.name);
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(it) => {
                    let _ =
                        write!(before, "const {}={{__proto__:null,...{runtime}}};", it.local.name);
                }
                ImportDeclarationSpecifier::ImportSpecifier(it) if it.import_kind.is_type() => {}
                ImportDeclarationSpecifier::ImportSpecifier(it) => {
                    let imported = it.imported.name();
                    if imported == "default" {
                        let _ = write!(
                            before,
                            "const {}={{__proto__:null,...{runtime}}};",
                            it.local.name
                        );
                    } else if self.ambient.contains(&imported.as_str()) {
                        named.push(format!("{imported}:{}", it.local.name));
                    } else {
                        self.faults.add(
                            it.span.start,
                            format!(
                                "import of `{imported}`: \"{RUNTIME_MODULE}\" has no such name; it has {}",
                                self.ambient.join(", ")
                            ),
                        );
                    }
                }
            }
        }
        if !named.is_empty() {
            let _ = write!(before, "const {{{}}}={runtime};", named.join(","));
        }
    }

    fn refuse_module(&mut self, span: Span, module: &str) {
        self.faults.add(
            span.start,
            format!(
                "import of \"{module}\": a program can load no module but \"{RUNTIME_MODULE}\""
            ),
        );
    }

    fn export_default(&mut self, export: &ExportDefaultDeclaration<'_>) -> Exported {
        let span = export.declaration.span();
        let keywords = Span::new(export.span.start, span.start);
        match &export.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(it) if let Some(id) = &it.id => {
                self.edits.blank_statement(keywords);
                return Exported::Function(id.name.to_string());
            }
            ExportDefaultDeclarationKind::ClassDeclaration(it) if let Some(id) = &it.id => {
                self.edits.blank_statement(keywords);
                return Exported::Class(id.name.to_string());
            }
            _ => {}
        }
        // As a property, a function without a name is called "default", as it is in a module.
        let name = self.names.default();
        self.edits.replace(keywords, format!("const {name}={{default:"));
        self.edits.close(span.end, OUTERMOST, "}.default;");
        match &export.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(_) => Exported::Function(name),
            ExportDefaultDeclarationKind::ClassDeclaration(_) => Exported::Class(name),
            _ => Exported::Value(name),
        }
    }
}

/// What `export default` gives.
#[derive(Debug)]
enum Exported {
    /// A function, which is called.
    Function(String),
    /// A class, which cannot be.
    Class(String),
    /// A value, which is called if it is a function.
    Value(String),
}

/// The name of a function declaration.
fn declared_function(statement: &Statement<'_>) -> Option<String> {
    let function = match statement {
        Statement::FunctionDeclaration(it) => it,
        Statement::ExportDeclaration(it) => match &it.declaration {
            Declaration::FunctionDeclaration(it) => it,
            _ => return None,
        },
        _ => return None,
    };
    function.id.as_ref().map(|id| id.name.to_string())
}

/// Whether an expression is a function, parentheses and types aside.
pub(super) fn is_function(expression: &Expression<'_>) -> bool {
    matches!(
        expression.get_inner_expression(),
        Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_)
    )
}
