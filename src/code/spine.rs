//! Walks an expression without recursion along its left side.
//!
//! `a + b + c + …` and `a.b().c()…` are as deep as they are long, and a program may well hold one
//! of ten thousand parts. All other depth is bounded before parsing ([`super::nesting`]).

use oxc_ast::AstKind;
use oxc_ast::ast::{ChainElement, Expression};
use oxc_ast_visit::{VisitJs, walk_js};

/// Visits `expression`; a visitor's `visit_expression` calls this, and it never reads
/// [`VisitJs::leave_node`] for what can stand on the left side.
pub(super) fn walk<'a, V: VisitJs<'a>>(visitor: &mut V, expression: &Expression<'a>) {
    let mut expression = expression;
    loop {
        expression = match expression {
            Expression::BinaryExpression(it) => {
                visitor.enter_node(AstKind::BinaryExpression(visitor.alloc(it)));
                visitor.visit_expression(&it.right);
                &it.left
            }
            Expression::LogicalExpression(it) => {
                visitor.enter_node(AstKind::LogicalExpression(visitor.alloc(it)));
                visitor.visit_expression(&it.right);
                &it.left
            }
            Expression::CallExpression(it) => {
                visitor.enter_node(AstKind::CallExpression(visitor.alloc(it)));
                visitor.visit_arguments(&it.arguments);
                &it.callee
            }
            Expression::StaticMemberExpression(it) => {
                visitor.enter_node(AstKind::StaticMemberExpression(visitor.alloc(it)));
                &it.object
            }
            Expression::ComputedMemberExpression(it) => {
                visitor.enter_node(AstKind::ComputedMemberExpression(visitor.alloc(it)));
                visitor.visit_expression(&it.expression);
                &it.object
            }
            Expression::PrivateFieldExpression(it) => {
                visitor.enter_node(AstKind::PrivateFieldExpression(visitor.alloc(it)));
                &it.object
            }
            Expression::TaggedTemplateExpression(it) => {
                visitor.enter_node(AstKind::TaggedTemplateExpression(visitor.alloc(it)));
                visitor.visit_template_literal(&it.quasi);
                &it.tag
            }
            Expression::ChainExpression(it) => match &it.expression {
                ChainElement::CallExpression(it) => {
                    visitor.enter_node(AstKind::CallExpression(visitor.alloc(it)));
                    visitor.visit_arguments(&it.arguments);
                    &it.callee
                }
                ChainElement::TSNonNullExpression(it) => {
                    visitor.enter_node(AstKind::TSNonNullExpression(visitor.alloc(it)));
                    &it.expression
                }
                ChainElement::StaticMemberExpression(it) => {
                    visitor.enter_node(AstKind::StaticMemberExpression(visitor.alloc(it)));
                    &it.object
                }
                ChainElement::ComputedMemberExpression(it) => {
                    visitor.enter_node(AstKind::ComputedMemberExpression(visitor.alloc(it)));
                    visitor.visit_expression(&it.expression);
                    &it.object
                }
                ChainElement::PrivateFieldExpression(it) => {
                    visitor.enter_node(AstKind::PrivateFieldExpression(visitor.alloc(it)));
                    &it.object
                }
            },
            Expression::TSAsExpression(it) => {
                visitor.enter_node(AstKind::TSAsExpression(visitor.alloc(it)));
                &it.expression
            }
            Expression::TSSatisfiesExpression(it) => {
                visitor.enter_node(AstKind::TSSatisfiesExpression(visitor.alloc(it)));
                &it.expression
            }
            Expression::TSNonNullExpression(it) => {
                visitor.enter_node(AstKind::TSNonNullExpression(visitor.alloc(it)));
                &it.expression
            }
            Expression::TSInstantiationExpression(it) => {
                visitor.enter_node(AstKind::TSInstantiationExpression(visitor.alloc(it)));
                &it.expression
            }
            other => return walk_js::walk_expression(visitor, other),
        };
    }
}
