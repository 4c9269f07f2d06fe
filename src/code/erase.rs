//! Takes TypeScript's types out of a program, without moving a line or a column.
//!
//! What is only a type becomes white space. Where that would make two statements one, or end one
//! early, a semicolon or a parenthesis takes the place of a character that went. Enums and
//! parameter properties are written as JavaScript; what else cannot be erased (namespaces with
//! values, decorators, `accessor`, `import x = …`, `export = …`) is refused with its place.

use std::fmt::Write as _;

use oxc_allocator::ArenaVec;
use oxc_ast::AstKind;
use oxc_ast::ast::{
    ArrowFunctionBody, ArrowFunctionExpression, BindingPattern, Class, ClassElement, Declaration,
    ExportDefaultDeclaration, ExportDefaultDeclarationKind, Expression, FormalParameter,
    FormalParameters, Function, FunctionBody, IdentifierReference, ImportDeclarationSpecifier,
    ImportOrExportKind, MethodDefinition, MethodDefinitionKind, MethodDefinitionType, Program,
    PropertyDefinition, PropertyDefinitionType, PropertyKey, Statement, TSEnumDeclaration,
    TSEnumMemberName, TSNamespaceDeclarationBody, TSThisParameter, TSTypeAnnotation,
    TSTypeParameterDeclaration,
};
use oxc_ast_visit::{VisitJs, walk_js};
use oxc_span::{GetSpan, Span};
use oxc_syntax::scope::ScopeFlags;

use super::edits::{Edits, offset};
use super::scan;
use super::spine;
use super::survey::Faults;

/// Added to the order of what opens here: it lies inside of what the guard opens.
const INNER: u32 = 1 << 30;

/// Collects the edits that make the program JavaScript.
pub(super) struct Erase<'s, 'e, 't> {
    text: &'s str,
    edits: &'e mut Edits<'t>,
    faults: &'e mut Faults,
    order: u32,
    /// Members of the enums around, which their initialisers name without the enum.
    enums: Vec<Enum>,
    /// Whether the classes around extend another.
    derived: Vec<bool>,
    /// Whether the statement being visited stands in a function or at the top, not in a block.
    in_function: bool,
}

#[derive(Debug)]
struct Enum {
    name: String,
    members: Vec<String>,
}

impl<'s, 'e, 't> Erase<'s, 'e, 't> {
    pub(super) fn new(text: &'s str, edits: &'e mut Edits<'t>, faults: &'e mut Faults) -> Self {
        Self {
            text,
            edits,
            faults,
            order: INNER,
            enums: Vec::new(),
            derived: Vec::new(),
            in_function: true,
        }
    }

    fn next_order(&mut self) -> u32 {
        self.order = self.order.saturating_add(1);
        self.order
    }

    fn annotation(&mut self, annotation: Option<&TSTypeAnnotation<'_>>) {
        if let Some(annotation) = annotation {
            self.edits.blank(annotation.span);
        }
    }

    /// From the end of a pattern to the end of its type: `?`, `!`, `: T`.
    fn after_pattern(
        &mut self,
        pattern: Span,
        marked: bool,
        annotation: Option<&TSTypeAnnotation<'_>>,
    ) {
        let marked = marked.then(|| scan::skip_trivia(self.text, pattern.end).saturating_add(1));
        if let Some(end) = annotation.map(|it| it.span.end).or(marked) {
            self.edits.blank(Span::new(pattern.end, end));
        }
    }

    /// `as T` and `satisfies T`.
    fn assertion(&mut self, whole: Span, expression: Span) {
        self.edits.blank(Span::new(expression.end, whole.end));
        // A line end after a type ends the statement where one after a value would not.
        let next = scan::skip_trivia(self.text, whole.end);
        let hazard =
            self.text.get(offset(next)..).is_some_and(|rest| rest.starts_with(['(', '[', '`']));
        if hazard && scan::has_line_end(self.text, whole.end, next) {
            self.edits.end_statement(whole.end);
        }
    }

    fn class(&mut self, class: &Class<'_>) {
        if class.r#abstract {
            // Decorators are refused, so the word stands first.
            let mut words = scan::words(self.text, class.span.start, class.body.span.start);
            if let Some((_, span)) = words.find(|(word, _)| *word == "abstract") {
                self.edits.blank(span);
            }
        }
        if let Some(parameters) = &class.type_parameters {
            self.edits.blank(parameters.span);
        }
        let heritage = class.heritage.as_ref();
        if let Some(arguments) = heritage.and_then(|it| it.type_arguments.as_ref()) {
            self.edits.blank(arguments.span);
        }
        if let Some(last) = class.implements.last() {
            let ends = [
                heritage.map(|it| it.expression.span().end),
                heritage.and_then(|it| it.type_arguments.as_ref()).map(|it| it.span.end),
                class.type_parameters.as_ref().map(|it| it.span.end),
                class.id.as_ref().map(|it| it.span.end),
            ];
            let from = ends.into_iter().flatten().max().unwrap_or(class.span.start);
            let mut words = scan::words(self.text, from, class.body.span.start);
            if let Some((_, span)) = words.find(|(word, _)| *word == "implements") {
                self.edits.blank(Span::new(span.start, last.span.end));
            }
        }
    }

    /// Blanks the modifiers of a class member that JavaScript does not have.
    fn modifiers(&mut self, member: Span, key: &PropertyKey<'_>) {
        let mut first = true;
        for (word, span) in scan::words(self.text, member.start, key.span().start) {
            if matches!(
                word,
                "public" | "private" | "protected" | "readonly" | "override" | "declare"
            ) {
                // A word that stood between two members keeps them apart.
                if first { self.edits.blank_statement(span) } else { self.edits.blank(span) }
            }
            first = false;
        }
    }

    /// The end of a key, its bracket included.
    fn key_end(&self, key: &PropertyKey<'_>, computed: bool) -> u32 {
        let end = key.span().end;
        if computed { scan::after(self.text, end, "]").unwrap_or(end) } else { end }
    }

    fn method(&mut self, method: &MethodDefinition<'_>) {
        self.modifiers(method.span, &method.key);
        if method.optional {
            let end = self.key_end(&method.key, method.computed);
            if let Some(after) = scan::after(self.text, end, "?") {
                self.edits.blank(Span::new(end, after));
            }
        }
        if method.kind == MethodDefinitionKind::Constructor {
            self.parameter_properties(&method.value);
        }
    }

    fn property(&mut self, property: &PropertyDefinition<'_>) {
        self.modifiers(property.span, &property.key);
        let end = self.key_end(&property.key, property.computed);
        let annotation = property.type_annotation.as_ref();
        let marked = property.optional || property.definite;
        let marked = marked.then(|| scan::skip_trivia(self.text, end).saturating_add(1));
        if let Some(to) = annotation.map(|it| it.span.end).or(marked) {
            let from = scan::skip_trivia(self.text, end);
            // `get: T` and `static: T` must not turn into the word before the next member.
            let last = property.value.is_none().then_some(';');
            self.edits.blank_with(Span::new(from, to), last, None);
        }
    }

    /// `constructor(private x)`: what TypeScript would do at the start of the body.
    fn parameter_properties(&mut self, constructor: &Function<'_>) {
        let mut assignments = String::new();
        for parameter in &constructor.params.items {
            if parameter.accessibility.is_none() && !parameter.readonly && !parameter.r#override {
                continue;
            }
            if let BindingPattern::BindingIdentifier(name) = &parameter.pattern {
                let name = name.span.source_text(self.text);
                let _ = write!(assignments, "this.{name}={name};");
            }
        }
        let Some(body) = constructor.body.as_ref().filter(|_| !assignments.is_empty()) else {
            return;
        };
        let order = self.next_order();
        if !self.derived.last().copied().unwrap_or(false) {
            self.edits.open(body.span.start.saturating_add(1), order, assignments);
        } else if let Some(call) = body.statements.iter().find_map(super_call) {
            self.edits.open(call.end, order, format!(";{assignments}"));
        } else {
            self.faults.add(
                constructor.span.start,
                "with parameter properties, `super(…)` must be a statement of its own in the constructor",
            );
        }
    }

    fn arrow(&mut self, arrow: &ArrowFunctionExpression<'_>) {
        let text = self.text;
        if let Some(parameters) = &arrow.type_parameters {
            let span = parameters.span;
            // `async <T,⏎>(x) => …`: no line may end between `async` and its parenthesis.
            if arrow.r#async && scan::has_line_end(text, span.start, arrow.params.span.start) {
                self.edits.blank_with(span, Some('('), None);
                self.edits.blank(Span::sized(arrow.params.span.start, 1));
            } else {
                self.edits.blank(span);
            }
        }
        if let Some(annotation) = &arrow.return_type {
            let span = annotation.span;
            // `(x):⏎T => …`: no line may end between the parenthesis and the arrow.
            if scan::has_line_end(text, arrow.params.span.end, span.end) {
                self.edits.blank(Span::new(arrow.params.span.end.saturating_sub(1), span.start));
                self.edits.blank_with(span, None, Some(')'));
            } else {
                self.edits.blank(span);
            }
        }
    }

    fn signature(
        &mut self,
        type_parameters: Option<&TSTypeParameterDeclaration<'_>>,
        this: Option<&TSThisParameter<'_>>,
        return_type: Option<&TSTypeAnnotation<'_>>,
    ) {
        if let Some(parameters) = type_parameters {
            self.edits.blank(parameters.span);
        }
        if let Some(this) = this {
            let end = scan::after(self.text, this.span.end, ",").unwrap_or(this.span.end);
            self.edits.blank(Span::new(this.span.start, end));
        }
        self.annotation(return_type);
    }

    fn parameter(&mut self, parameter: &FormalParameter<'_>) {
        let pattern = parameter.pattern.span();
        for (word, span) in scan::words(self.text, parameter.span.start, pattern.start) {
            if matches!(word, "public" | "private" | "protected" | "readonly" | "override") {
                self.edits.blank(span);
            }
        }
        self.after_pattern(pattern, parameter.optional, parameter.type_annotation.as_deref());
    }

    fn enumeration(&mut self, declaration: &TSEnumDeclaration<'_>) {
        let name = declaration.id.span.source_text(self.text).to_owned();
        let body = declaration.body.span;
        // In a block, `var` would leave it; and only there no other declaration can add to the enum.
        let (keyword, object) = if self.in_function {
            ("var", format!("{name}||{{}}"))
        } else {
            ("let", "{}".to_owned())
        };
        let head = format!("{keyword} {name}=(({name})=>{{");
        let head_span = Span::new(declaration.span.start, body.start.saturating_add(1));
        self.edits.replace(head_span, head);
        let members = declaration.body.members.iter();
        let members = members.filter_map(|member| match &member.id {
            TSEnumMemberName::Identifier(id) => Some(id.name.to_string()),
            TSEnumMemberName::String(id) | TSEnumMemberName::ComputedString(id) => {
                Some(id.value.to_string())
            }
            TSEnumMemberName::ComputedTemplateString(_) => None,
        });
        self.enums.push(Enum { name: name.clone(), members: members.collect() });
        let mut previous: Option<(String, bool)> = None;
        for member in &declaration.body.members {
            let key = match &member.id {
                TSEnumMemberName::Identifier(id) => format!("\"{}\"", id.name),
                other => other.span().source_text(self.text).to_owned(),
            };
            let member_end = match (&member.initializer, &member.id) {
                (Some(initializer), _) => initializer.span().end,
                (None, id) => {
                    let end = id.span().end;
                    let computed = self.text.get(offset(member.span.start)..);
                    let computed = computed.is_some_and(|rest| rest.starts_with('['));
                    if computed { scan::after(self.text, end, "]").unwrap_or(end) } else { end }
                }
            };
            let comma = scan::after(self.text, member_end, ",").unwrap_or(member_end);
            if let Some(initializer) = &member.initializer {
                let start = initializer.span().start;
                let set = format!("{name}[{key}]=");
                self.edits.replace(Span::new(member.span.start, start), set);
                let end = if is_text(initializer) {
                    ";".to_owned()
                } else {
                    format!(";typeof {name}[{key}]==\"string\"||({name}[{name}[{key}]]={key});")
                };
                self.edits.replace(Span::new(member_end, comma), "");
                let order = self.next_order();
                self.edits.close(member_end, order, end);
                self.visit_expression(initializer);
                previous = Some((key, is_text(initializer)));
            } else {
                let value = match &previous {
                    None => "0".to_owned(),
                    Some((_, true)) => {
                        self.faults.add(
                            member.span.start,
                            "after a text, a member of an enum needs a value",
                        );
                        String::new()
                    }
                    Some((previous, false)) => format!("{name}[{previous}]+1"),
                };
                let set = format!("{name}[{name}[{key}]={value}]={key};");
                self.edits.replace(Span::new(member.span.start, comma), set);
                previous = Some((key, false));
            }
        }
        self.enums.pop();
        let end = Span::new(declaration.span.end.saturating_sub(1), declaration.span.end);
        self.edits.replace(end, format!("return {name}}})({object});"));
    }
}

impl<'a> VisitJs<'a> for Erase<'_, '_, '_> {
    fn visit_expression(&mut self, it: &Expression<'a>) {
        spine::walk(self, it);
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        if is_erased(it) {
            self.edits.blank_statement(it.span());
        } else {
            walk_js::walk_statement(self, it);
        }
    }

    fn visit_program(&mut self, it: &Program<'a>) {
        for statement in &it.body {
            self.in_function = true;
            self.visit_statement(statement);
        }
    }

    fn visit_statements(&mut self, it: &ArenaVec<'a, Statement<'a>>) {
        let outer = std::mem::replace(&mut self.in_function, false);
        walk_js::walk_statements(self, it);
        self.in_function = outer;
    }

    fn visit_function_body(&mut self, it: &FunctionBody<'a>) {
        for statement in &it.statements {
            self.in_function = true;
            self.visit_statement(statement);
        }
        self.in_function = false;
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        if is_erased_element(it) {
            self.edits.blank_statement(it.span());
        } else {
            walk_js::walk_class_element(self, it);
        }
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let around = self.enums.iter().rev();
        let mut found =
            around.filter(|around| around.members.iter().any(|name| it.name == name.as_str()));
        if let Some(name) = found.next().map(|around| around.name.clone()) {
            let order = self.next_order();
            self.edits.open(it.span.start, order, format!("{name}."));
        }
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        self.enumeration(it);
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        self.signature(
            it.type_parameters.as_deref(),
            it.this_param.as_deref(),
            it.return_type.as_deref(),
        );
        let outer = self.in_function;
        walk_js::walk_function(self, it, flags);
        self.in_function = outer;
    }

    fn visit_arrow_function_body(&mut self, it: &ArrowFunctionBody<'a>) {
        let outer = self.in_function;
        walk_js::walk_arrow_function_body(self, it);
        self.in_function = outer;
    }

    fn visit_formal_parameters(&mut self, it: &FormalParameters<'a>) {
        if let Some(rest) = &it.rest {
            self.annotation(rest.type_annotation.as_deref());
        }
        walk_js::walk_formal_parameters(self, it);
    }

    fn enter_node(&mut self, kind: AstKind<'a>) {
        match kind {
            AstKind::TSAsExpression(it) => self.assertion(it.span, it.expression.span()),
            AstKind::TSSatisfiesExpression(it) => self.assertion(it.span, it.expression.span()),
            AstKind::TSNonNullExpression(it) => {
                self.edits.blank(Span::new(it.expression.span().end, it.span.end));
            }
            AstKind::TSTypeAssertion(it) => {
                // The parenthesis keeps `return <T>⏎x` one statement.
                let order = self.next_order();
                let span = Span::new(it.span.start, it.expression.span().start);
                self.edits.blank_with(span, Some('('), None);
                self.edits.close(it.span.end, order, ")");
            }
            AstKind::TSInstantiationExpression(it) => self.edits.blank(it.type_arguments.span),
            AstKind::CallExpression(it) => {
                if let Some(arguments) = &it.type_arguments {
                    self.edits.blank(arguments.span);
                }
            }
            AstKind::NewExpression(it) => {
                if let Some(arguments) = &it.type_arguments {
                    self.edits.blank(arguments.span);
                }
            }
            AstKind::TaggedTemplateExpression(it) => {
                if let Some(arguments) = &it.type_arguments {
                    self.edits.blank(arguments.span);
                }
            }
            AstKind::VariableDeclarator(it) => {
                self.after_pattern(it.id.span(), it.definite, it.type_annotation.as_deref());
            }
            AstKind::CatchParameter(it) => self.annotation(it.type_annotation.as_deref()),
            AstKind::FormalParameter(it) => self.parameter(it),
            AstKind::ArrowFunctionExpression(it) => self.arrow(it),
            AstKind::Class(it) => {
                self.derived.push(it.heritage.is_some());
                self.class(it);
            }
            AstKind::MethodDefinition(it) => self.method(it),
            AstKind::PropertyDefinition(it) => self.property(it),
            _ => {}
        }
    }

    fn leave_node(&mut self, kind: AstKind<'a>) {
        if matches!(kind, AstKind::Class(_)) {
            self.derived.pop();
        }
    }
}

/// Whether a statement is types alone, and nothing of it stays.
pub(super) fn is_erased(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::ImportDeclaration(it) => {
            it.import_kind.is_type() || it.specifiers.as_ref().is_some_and(|specifiers| {
                !specifiers.is_empty() && specifiers.iter().all(|specifier| {
                    matches!(specifier, ImportDeclarationSpecifier::ImportSpecifier(it) if it.import_kind.is_type())
                })
            })
        }
        Statement::ExportAllDeclaration(it) => it.export_kind.is_type(),
        Statement::ExportFromDeclaration(it) => {
            it.export_kind.is_type() || all_types(it.specifiers.iter().map(|it| it.export_kind))
        }
        Statement::ExportNamedDeclaration(it) => {
            it.export_kind.is_type() || all_types(it.specifiers.iter().map(|it| it.export_kind))
        }
        Statement::ExportDeclaration(it) => is_erased_declaration(&it.declaration),
        Statement::ExportDefaultDeclaration(it) => is_erased_default(it),
        other => other.as_declaration().is_some_and(is_erased_declaration),
    }
}

fn all_types(mut kinds: impl ExactSizeIterator<Item = ImportOrExportKind>) -> bool {
    kinds.len() > 0 && kinds.all(ImportOrExportKind::is_type)
}

fn is_erased_default(export: &ExportDefaultDeclaration<'_>) -> bool {
    match &export.declaration {
        ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => true,
        ExportDefaultDeclarationKind::FunctionDeclaration(it) => it.body.is_none(),
        _ => false,
    }
}

fn is_erased_declaration(declaration: &Declaration<'_>) -> bool {
    match declaration {
        Declaration::TSTypeAliasDeclaration(_)
        | Declaration::TSInterfaceDeclaration(_)
        | Declaration::TSExternalModuleDeclaration(_)
        | Declaration::TSGlobalDeclaration(_) => true,
        Declaration::TSEnumDeclaration(it) => it.declare,
        Declaration::VariableDeclaration(it) => it.declare,
        Declaration::FunctionDeclaration(it) => it.declare || it.body.is_none(),
        Declaration::ClassDeclaration(it) => it.declare,
        Declaration::TSImportEqualsDeclaration(it) => it.import_kind.is_type(),
        Declaration::TSNamespaceDeclaration(it) => {
            let mut body = &it.body;
            let mut declare = it.declare;
            loop {
                match body {
                    TSNamespaceDeclarationBody::TSNamespaceDeclaration(it) => {
                        declare |= it.declare;
                        body = &it.body;
                    }
                    TSNamespaceDeclarationBody::TSModuleBlock(block) => {
                        return declare || block.body.iter().all(is_erased);
                    }
                }
            }
        }
    }
}

/// Whether a member of a class is types alone.
pub(super) fn is_erased_element(element: &ClassElement<'_>) -> bool {
    match element {
        ClassElement::TSIndexSignature(_) => true,
        ClassElement::MethodDefinition(it) => {
            it.r#type == MethodDefinitionType::TSAbstractMethodDefinition || it.value.body.is_none()
        }
        ClassElement::PropertyDefinition(it) => {
            it.declare || it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition
        }
        ClassElement::StaticBlock(_) | ClassElement::AccessorProperty(_) => false,
    }
}

/// The span of `super(…)`, when the statement is one.
fn super_call(statement: &Statement<'_>) -> Option<Span> {
    let Statement::ExpressionStatement(it) = statement else { return None };
    let Expression::CallExpression(call) = &it.expression else { return None };
    matches!(call.callee, Expression::Super(_)).then_some(it.span)
}

/// Whether an initialiser is text, as far as its form tells.
fn is_text(expression: &Expression<'_>) -> bool {
    match expression {
        Expression::StringLiteral(_) | Expression::TemplateLiteral(_) => true,
        Expression::ParenthesizedExpression(it) => is_text(&it.expression),
        _ => false,
    }
}
