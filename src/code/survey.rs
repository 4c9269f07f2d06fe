//! What is in a program that decides how it is treated, or that it is refused.

use std::collections::HashMap;

use oxc_ast::AstKind;
use oxc_ast::ast::{
    AccessorProperty, AssignmentTargetPropertyIdentifier, ClassElement, Declaration, Decorator,
    ExportDefaultDeclarationKind, Expression, Function, SimpleAssignmentTarget, Statement,
};
use oxc_ast_visit::{VisitJs, walk_js};
use oxc_span::GetSpan;

use super::edits::offset;
use super::erase::{is_erased, is_erased_element};
use super::refusal::Refusal;
use super::spine;

/// What a program is refused for. The first in the text is told.
#[derive(Debug, Default)]
pub(super) struct Faults {
    first: Option<(u32, String)>,
}

impl Faults {
    /// Notes `what` at an offset.
    pub(super) fn add(&mut self, at: u32, what: impl Into<String>) {
        if self.first.as_ref().is_none_or(|(first, _)| at < *first) {
            self.first = Some((at, what.into()));
        }
    }

    /// Refuses the program if there are any.
    pub(super) fn check(self, text: &str) -> Result<(), Refusal> {
        match self.first {
            Some((at, what)) => Err(Refusal::at(text, offset(at), what)),
            None => Ok(()),
        }
    }
}

/// How the names of a program are used.
///
/// It works on names alone, without scopes: a name that occurs twice simply does not qualify.
#[derive(Debug, Default)]
pub(super) struct Calls<'a> {
    uses: HashMap<&'a str, Uses>,
}

#[derive(Debug, Default)]
struct Uses {
    declared: u32,
    /// Declared as a function that runs to its end when it is called.
    function: bool,
    named: u32,
    called: u32,
    /// Assigned to after its declaration.
    assigned: bool,
}

impl<'a> Calls<'a> {
    fn of(&mut self, name: &'a str) -> &mut Uses {
        self.uses.entry(name).or_default()
    }

    /// Whether anything of this name is assigned to after its declaration.
    pub(super) fn is_assigned(&self, name: &str) -> bool {
        self.uses.get(name).is_some_and(|uses| uses.assigned)
    }

    /// Whether `name` is a function that is declared once and otherwise only called by its name: no
    /// callback, getter or trap can reach it.
    pub(super) fn is_free(&self, name: &str) -> bool {
        self.uses
            .get(name)
            .is_some_and(|uses| uses.function && uses.declared == 1 && uses.named == uses.called)
    }
}

/// Looks for what no program may have, and for what decides how it is treated.
#[derive(Debug, Default)]
pub(super) struct Survey<'a> {
    pub(super) faults: Faults,
    pub(super) calls: Calls<'a>,
    /// Whether a template literal is the tag of another: what a Markdown fence parses as.
    pub(super) fence: bool,
    /// Where the first JSX is.
    pub(super) jsx: Option<usize>,
    /// How many functions with a `new.target` of their own, or class members, are around.
    functions: u32,
}

impl<'a> Survey<'a> {
    /// The body of a loop or branch: the guard's braces must not make a declaration legal there.
    fn body(&mut self, body: &Statement<'a>) {
        if matches!(body, Statement::FunctionDeclaration(_)) {
            self.faults
                .add(body.span().start, "a function can only be declared at the top or in a block");
        }
    }

    /// An exported function can be called from elsewhere.
    fn exported(&mut self, function: &Function<'a>) {
        if let Some(id) = &function.id {
            let uses = self.calls.of(id.name.as_str());
            uses.named = uses.named.saturating_add(1);
        }
    }

    fn jsx(&mut self, at: u32) {
        let at = offset(at);
        self.jsx = Some(self.jsx.map_or(at, |first| first.min(at)));
    }
}

impl<'a> VisitJs<'a> for Survey<'a> {
    fn visit_expression(&mut self, it: &Expression<'a>) {
        spine::walk(self, it);
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        if !is_erased(it) {
            walk_js::walk_statement(self, it);
        }
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        if !is_erased_element(it) {
            self.functions = self.functions.saturating_add(1);
            walk_js::walk_class_element(self, it);
            self.functions = self.functions.saturating_sub(1);
        }
    }

    fn visit_simple_assignment_target(&mut self, it: &SimpleAssignmentTarget<'a>) {
        if let Some(name) = assigned_name(it) {
            self.calls.of(name).assigned = true;
        }
        walk_js::walk_simple_assignment_target(self, it);
    }

    fn visit_assignment_target_property_identifier(
        &mut self,
        it: &AssignmentTargetPropertyIdentifier<'a>,
    ) {
        self.calls.of(it.binding.name.as_str()).assigned = true;
        walk_js::walk_assignment_target_property_identifier(self, it);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.faults.add(it.span.start, "decorators are not supported");
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        self.faults.add(it.span.start, "`accessor` fields are not supported");
    }

    fn visit_declaration(&mut self, it: &Declaration<'a>) {
        match it {
            Declaration::TSNamespaceDeclaration(it) => self.faults.add(
                it.span.start,
                "a namespace that holds values cannot be erased; use an object or plain functions",
            ),
            Declaration::TSImportEqualsDeclaration(it) => self.faults.add(
                it.span.start,
                "import … = … is not supported; use `import { … } from \"holdfast:runtime\"`, or a `const`",
            ),
            other => walk_js::walk_declaration(self, other),
        }
    }

    fn enter_node(&mut self, kind: AstKind<'a>) {
        match kind {
            AstKind::ImportExpression(it) => self
                .faults
                .add(it.span.start, "import() is not supported: a program can load no module"),
            AstKind::ImportMeta(it) => {
                self.faults
                    .add(it.span.start, "import.meta is not supported: a program has no address");
            }
            AstKind::JSXElement(it) => self.jsx(it.span.start),
            AstKind::JSXFragment(it) => self.jsx(it.span.start),
            AstKind::ForStatement(it) => self.body(&it.body),
            AstKind::ForInStatement(it) => self.body(&it.body),
            AstKind::ForOfStatement(it) => self.body(&it.body),
            AstKind::WhileStatement(it) => self.body(&it.body),
            AstKind::DoWhileStatement(it) => self.body(&it.body),
            AstKind::LabeledStatement(it) => self.body(&it.body),
            AstKind::IfStatement(it) => {
                self.body(&it.consequent);
                if let Some(alternate) = &it.alternate {
                    self.body(alternate);
                }
            }
            AstKind::WithStatement(it) => {
                self.faults.add(it.span.start, "with is not allowed: a program is a module");
            }
            AstKind::NewTarget(it) if self.functions == 0 => {
                self.faults.add(it.span.start, "new.target stands outside of a function");
            }
            AstKind::TaggedTemplateExpression(it) => {
                // Three backticks are an empty literal and the beginning of the next one, with or
                // without a word before them that is taken for a tag.
                self.fence |= match &it.tag {
                    Expression::TemplateLiteral(_) => true,
                    Expression::TaggedTemplateExpression(tag) => {
                        tag.quasi.expressions.is_empty()
                            && tag.quasi.quasis.iter().all(|part| part.value.raw.is_empty())
                    }
                    _ => false,
                };
            }
            AstKind::IdentifierReference(it) => {
                let uses = self.calls.of(it.name.as_str());
                uses.named = uses.named.saturating_add(1);
            }
            AstKind::BindingIdentifier(it) => {
                let uses = self.calls.of(it.name.as_str());
                uses.declared = uses.declared.saturating_add(1);
            }
            AstKind::CallExpression(it) => {
                if let Expression::Identifier(callee) = &it.callee {
                    let uses = self.calls.of(callee.name.as_str());
                    uses.called = uses.called.saturating_add(1);
                }
            }
            AstKind::ExportDeclaration(it) => {
                if let Declaration::FunctionDeclaration(it) = &it.declaration {
                    self.exported(it);
                }
            }
            AstKind::ExportDefaultDeclaration(it) => {
                if let ExportDefaultDeclarationKind::FunctionDeclaration(it) = &it.declaration {
                    self.exported(it);
                }
            }
            AstKind::Function(it) => {
                self.functions = self.functions.saturating_add(1);
                let plain = it.is_function_declaration() && !it.r#async && !it.generator;
                if let Some(id) = it.id.as_ref().filter(|_| plain) {
                    self.calls.of(id.name.as_str()).function = true;
                }
            }
            _ => {}
        }
    }

    fn leave_node(&mut self, kind: AstKind<'a>) {
        if matches!(kind, AstKind::Function(_)) {
            self.functions = self.functions.saturating_sub(1);
        }
    }
}

/// The variable that an assignment sets, its types aside.
pub(super) fn assigned_name<'a>(target: &SimpleAssignmentTarget<'a>) -> Option<&'a str> {
    if let SimpleAssignmentTarget::AssignmentTargetIdentifier(it) = target {
        return Some(it.name.as_str());
    }
    match target.get_expression()?.get_inner_expression() {
        Expression::Identifier(it) => Some(it.name.as_str()),
        _ => None,
    }
}
