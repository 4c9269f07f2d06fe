//! Tells a package's other modules what is assigned to an export after its declaration.
//!
//! It works on names alone: an assignment to a variable of the same name in an inner scope tells the
//! importers what they know already.

use std::collections::HashSet;

use oxc_ast::AstKind;
use oxc_ast::ast::{
    AssignmentTarget, AssignmentTargetPropertyIdentifier, Expression, ForStatementLeft,
    IdentifierReference, SimpleAssignmentTarget, Statement,
};
use oxc_ast_visit::{VisitJs, walk_js};
use oxc_span::{GetSpan, Span};

use super::edits::Edits;
use super::erase::is_erased;
use super::spine;
use super::survey::assigned_name;

/// Added to the order: inside of what the guard opens, outside of what the erasure does.
const BETWEEN: u32 = 1 << 29;

/// Collects the edits that pass each assignment to the function that tells.
pub(super) struct Live<'e, 't, 'n> {
    edits: &'e mut Edits<'t>,
    locals: HashSet<&'n str>,
    tell: &'n str,
    order: u32,
}

impl<'e, 't, 'n> Live<'e, 't, 'n> {
    pub(super) fn new(edits: &'e mut Edits<'t>, locals: HashSet<&'n str>, tell: &'n str) -> Self {
        Self { edits, locals, tell, order: BETWEEN }
    }

    fn next_order(&mut self) -> u32 {
        self.order = self.order.saturating_add(1);
        self.order
    }

    fn wrap(&mut self, span: Span) {
        let order = self.next_order();
        self.edits.open(span.start, order, format!("{}(", self.tell));
        self.edits.close(span.end, order, ")");
    }

    /// The head of a loop assigns before each run of its body.
    fn head(&mut self, left: &ForStatementLeft<'_>, body: &Statement<'_>) {
        if !left.as_assignment_target().is_some_and(|it| assigns(it, &self.locals)) {
            return;
        }
        let order = self.next_order();
        if let Statement::BlockStatement(block) = body {
            self.edits.open(block.span.start.saturating_add(1), order, format!("{}();", self.tell));
        } else {
            self.edits.open(body.span().start, order, format!("{{{}();", self.tell));
            self.edits.close(body.span().end, order, "}");
        }
    }
}

impl<'a> VisitJs<'a> for Live<'_, '_, '_> {
    fn visit_expression(&mut self, it: &Expression<'a>) {
        spine::walk(self, it);
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        if !is_erased(it) {
            walk_js::walk_statement(self, it);
        }
    }

    fn enter_node(&mut self, kind: AstKind<'a>) {
        match kind {
            AstKind::AssignmentExpression(it) if assigns(&it.left, &self.locals) => {
                self.wrap(it.span);
            }
            AstKind::UpdateExpression(it) => {
                let name = assigned_name(&it.argument);
                if name.is_some_and(|name| self.locals.contains(name)) {
                    self.wrap(it.span);
                }
            }
            AstKind::ForOfStatement(it) => self.head(&it.left, &it.body),
            AstKind::ForInStatement(it) => self.head(&it.left, &it.body),
            _ => {}
        }
    }
}

/// Whether an assignment's left side names one of `names`.
fn assigns(target: &AssignmentTarget<'_>, names: &HashSet<&str>) -> bool {
    let mut found = Assigned { names, found: false };
    found.visit_assignment_target(target);
    found.found
}

struct Assigned<'n> {
    names: &'n HashSet<&'n str>,
    found: bool,
}

impl<'a> VisitJs<'a> for Assigned<'_> {
    // What a pattern computes on the way is visited for itself.
    fn visit_expression(&mut self, _: &Expression<'a>) {}

    fn visit_simple_assignment_target(&mut self, it: &SimpleAssignmentTarget<'a>) {
        self.found |= assigned_name(it).is_some_and(|name| self.names.contains(name));
    }

    fn visit_assignment_target_property_identifier(
        &mut self,
        it: &AssignmentTargetPropertyIdentifier<'a>,
    ) {
        self.visit_identifier_reference(&it.binding);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.found |= self.names.contains(it.name.as_str());
    }
}
