//! What a program returns, as far as its text says.
//!
//! Only what can be seen without running it: a `return` of a function or a class, written there or
//! declared at the same place. What is computed shows when the program ends.

use oxc_ast::ast::{
    ArrowFunctionBody, BindingPattern, Declaration, ExportDefaultDeclarationKind, Expression,
    FunctionBody, Statement,
};
use oxc_span::GetSpan;

use super::recover::Tree;

/// The offset of what is returned, where that is a function.
pub(super) fn returned_function(tree: &Tree<'_>) -> Option<usize> {
    match tree {
        Tree::Expression(expression) => of_value(expression),
        Tree::Program(program) => {
            let body = &program.body;
            let exported = body.iter().find_map(|statement| match statement {
                Statement::ExportDefaultDeclaration(it) => Some(&it.declaration),
                _ => None,
            });
            match (exported, body.as_slice()) {
                (Some(ExportDefaultDeclarationKind::FunctionDeclaration(it)), _) => {
                    it.body.as_ref().and_then(|body| of_body(body))
                }
                (Some(it), _) => it.as_expression().and_then(of_value),
                (None, [Statement::FunctionDeclaration(it)]) => {
                    it.body.as_ref().and_then(|body| of_body(body))
                }
                (None, [Statement::ExpressionStatement(it)]) => of_value(&it.expression),
                (None, statements) => of_statements(statements, statements),
            }
        }
    }
}

/// A lone function is called: what counts is what it returns.
fn of_value(expression: &Expression<'_>) -> Option<usize> {
    match expression.get_inner_expression() {
        Expression::ArrowFunctionExpression(it) => match &it.body {
            ArrowFunctionBody::FunctionBody(body) => of_body(body),
            body => body.as_expression().filter(|value| is_function(value, &[])).map(place),
        },
        Expression::FunctionExpression(it) => it.body.as_ref().and_then(|body| of_body(body)),
        _ => None,
    }
}

fn of_body(body: &FunctionBody<'_>) -> Option<usize> {
    of_statements(&body.statements, &body.statements)
}

/// The first `return` of a function among `statements`, those inside of blocks included; `around`:
/// where names are declared.
fn of_statements(statements: &[Statement<'_>], around: &[Statement<'_>]) -> Option<usize> {
    statements.iter().find_map(|statement| of_statement(statement, around))
}

fn of_statement(statement: &Statement<'_>, around: &[Statement<'_>]) -> Option<usize> {
    match statement {
        Statement::ReturnStatement(it) => {
            it.argument.as_ref().filter(|value| is_function(value, around)).map(place)
        }
        Statement::BlockStatement(it) => of_statements(&it.body, around),
        Statement::IfStatement(it) => of_statement(&it.consequent, around)
            .or_else(|| it.alternate.as_ref().and_then(|other| of_statement(other, around))),
        Statement::TryStatement(it) => of_statements(&it.block.body, around),
        _ => None,
    }
}

fn place(expression: &Expression<'_>) -> usize {
    usize::try_from(expression.span().start).unwrap_or_default()
}

fn is_function(value: &Expression<'_>, around: &[Statement<'_>]) -> bool {
    match value.get_inner_expression() {
        Expression::ArrowFunctionExpression(_)
        | Expression::FunctionExpression(_)
        | Expression::ClassExpression(_) => true,
        Expression::Identifier(it) => {
            around.iter().any(|statement| declares_function(statement, it.name.as_str()))
        }
        _ => false,
    }
}

/// Whether a statement makes `name` a function for good.
fn declares_function(statement: &Statement<'_>, name: &str) -> bool {
    let declaration = match statement {
        Statement::ExportDeclaration(it) => &it.declaration,
        other => match other.as_declaration() {
            Some(declaration) => declaration,
            None => return false,
        },
    };
    match declaration {
        Declaration::FunctionDeclaration(it) => {
            it.id.as_ref().is_some_and(|id| id.name.as_str() == name)
        }
        Declaration::ClassDeclaration(it) => {
            it.id.as_ref().is_some_and(|id| id.name.as_str() == name)
        }
        Declaration::VariableDeclaration(it) if it.kind.is_const() => {
            it.declarations.iter().any(|one| {
                matches!(&one.id, BindingPattern::BindingIdentifier(id) if id.name.as_str() == name)
                    && one.init.as_ref().is_some_and(|value| is_function(value, &[]))
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    //! What is seen, and what is left to the run.

    use crate::code::returned_function;

    #[test]
    fn a_function_that_is_returned_is_found_with_its_place() {
        for code in [
            "return () => 1",
            "return function () {}",
            "return class {}",
            "return (() => 1)",
            "return (() => 1) as any",
            "function f() {}\nreturn f",
            "const f = async () => 1; return f",
            "class A {}\nreturn A",
            "if (params.a) { return () => 1 }\nreturn 1",
            "try { return () => 1 } catch {}",
            "() => () => 1",
            "async () => { return () => 1 }",
            "export default async function () { return () => 1 }",
            "export default () => () => 1",
            "const a = 1;\nreturn () => a",
        ] {
            assert!(returned_function(code).is_some(), "{code}");
        }
        let place = returned_function("const a = 1;\nreturn () => a").unwrap();
        assert_eq!((place.line, place.column), (2, 8));
    }

    #[test]
    fn what_only_the_run_can_tell_is_left_to_it() {
        for code in [
            "return 1",
            "return (() => 1)()",
            "() => 42",
            "async function main() { return 1 }",
            "function f() { return () => 1 }\nreturn f()()",
            "let f = () => 1; f = 2; return f",
            "return [1, 2].map((x) => x + 1)",
            "const x = params.f; return x",
            "export default async () => 1",
            "return }",
            "",
        ] {
            assert_eq!(returned_function(code), None, "{code}");
        }
    }
}
