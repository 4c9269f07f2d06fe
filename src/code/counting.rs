//! Loops that count between two numbers: `for (let i = 0; i < 100; i++)`.
//!
//! How often such a loop runs is known from its text, as long as nothing in its body sets `i` and
//! nothing leaves it.

use oxc_ast::ast::{
    BindingPattern, Expression, ForStatement, ForStatementInit, SimpleAssignmentTarget, Statement,
    VariableDeclarationKind,
};
use oxc_ast_visit::{VisitJs, walk_js};
use oxc_span::{GetSpan, Span};
use oxc_syntax::operator::{BinaryOperator, UpdateOperator};

use super::spine;
use super::survey::assigned_name;

/// Up to here every whole number is a number of its own, and counting arrives.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// What a loop counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counting<'i> {
    /// The variable; nothing in the body sets it.
    pub(super) name: &'i str,
    from: f64,
    /// The first number that it does not run for.
    pub(super) to: f64,
    /// Where the test stands.
    pub(super) test: Span,
}

impl<'i> Counting<'i> {
    /// Reads a loop that counts up by one between literals.
    pub(super) fn of(it: &'i ForStatement<'_>) -> Option<Self> {
        let Some(ForStatementInit::VariableDeclaration(init)) = &it.init else { return None };
        let [declaration] = init.declarations.as_slice() else { return None };
        let BindingPattern::BindingIdentifier(id) = &declaration.id else { return None };
        let Some(Expression::NumericLiteral(from)) = &declaration.init else { return None };
        let Some(Expression::BinaryExpression(test)) = &it.test else { return None };
        let Expression::Identifier(tested) = &test.left else { return None };
        let Expression::NumericLiteral(bound) = &test.right else { return None };
        let Some(Expression::UpdateExpression(update)) = &it.update else { return None };
        let SimpleAssignmentTarget::AssignmentTargetIdentifier(updated) = &update.argument else {
            return None;
        };
        let to = match test.operator {
            BinaryOperator::LessThan => bound.value,
            BinaryOperator::LessEqualThan => bound.value + 1.0,
            _ => return None,
        };
        let counts = init.kind == VariableDeclarationKind::Let
            && update.operator == UpdateOperator::Increment
            && tested.name == id.name
            && updated.name == id.name
            && from.value.fract() == 0.0
            && to.fract() == 0.0
            && to <= MAX_SAFE_INTEGER
            && !writes(&it.body, &id.name);
        counts.then(|| Self { name: &id.name, from: from.value, to, test: test.span() })
    }

    /// How often it runs.
    pub(super) fn steps(&self) -> f64 {
        (self.to - self.from).max(0.0)
    }
}

/// Whether anything in a loop's body assigns to `name`.
fn writes(body: &Statement<'_>, name: &str) -> bool {
    let mut writes = Writes { name, found: false };
    writes.visit_statement(body);
    writes.found
}

/// Looks for assignments to a name.
struct Writes<'n> {
    name: &'n str,
    found: bool,
}

impl<'a> VisitJs<'a> for Writes<'_> {
    fn visit_expression(&mut self, it: &Expression<'a>) {
        spine::walk(self, it);
    }

    fn visit_simple_assignment_target(&mut self, it: &SimpleAssignmentTarget<'a>) {
        self.found |= assigned_name(it) == Some(self.name);
        walk_js::walk_simple_assignment_target(self, it);
    }

    fn visit_assignment_target_property_identifier(
        &mut self,
        it: &oxc_ast::ast::AssignmentTargetPropertyIdentifier<'a>,
    ) {
        self.found |= it.binding.name == self.name;
        walk_js::walk_assignment_target_property_identifier(self, it);
    }
}
