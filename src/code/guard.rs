//! Puts ticks into a program, so that it cannot run for ever where the platform does not end it.
//!
//! A tick is a countdown, and a call when it is used up: `--$t.n<0&&$t.t()`. The call looks at the
//! clock and throws when the budget is spent. Ticks stand at the heads of functions and loops, where
//! `continue` cannot skip them, and at the heads of `catch` and `finally`, where nothing of a handler
//! runs once the time is up.
//!
//! A call in a loop's body costs much even when it is never made: V8 then keeps the loop's values in
//! memory. So a loop is run in chunks where that means the same: an inner loop that counts down and
//! holds no call, and an outer one that asks the guard when a chunk is used up.
//!
//! What needs no tick: a loop over a few literal steps, and a function that is only ever called by
//! its name and calls no other such function, since any cycle through it has another tick.

use oxc_ast::AstKind;
use oxc_ast::ast::{
    ArrowFunctionBody, ArrowFunctionExpression, CatchClause, Class, ClassElement, DoWhileStatement,
    Expression, ForInStatement, ForOfStatement, ForStatement, ForStatementInit, Function,
    FunctionType, LabeledStatement, MethodDefinition, PropertyDefinition, PropertyKey, Statement,
    StaticBlock, TryStatement, VariableDeclarationKind, WhileStatement,
};
use oxc_ast_visit::{VisitJs, walk_js};
use oxc_span::{GetSpan, Span};
use oxc_syntax::scope::ScopeFlags;

use super::counting::Counting;
use super::edits::Edits;
use super::erase::{is_erased, is_erased_element};
use super::names::Names;
use super::scan;
use super::spine;
use super::survey::Calls;

/// Iterations of a chunk, and how many of them count as one unit (as a shift).
///
/// A light loop holds no call: 1,024 of its iterations take a few microseconds, and a unit is meant to
/// be about a microsecond. Any other iteration can be a whole `JSON.parse`, so it counts for itself.
struct Chunk {
    iterations: u32,
    shift: u32,
}

const LIGHT: Chunk = Chunk { iterations: 1024, shift: 3 };
const OTHER: Chunk = Chunk { iterations: 128, shift: 0 };

/// Steps of a loop that is straight-line code repeated: it needs no tick.
const SHORT_STEPS: f64 = 32.0;

/// The texts that are put in.
#[derive(Debug)]
pub(super) struct Texts {
    guard: String,
    left: String,
    /// Counts an iteration of a chunk down, and asks whether there was one left.
    count: String,
    /// The tick as a statement.
    tick: String,
    /// A block that begins with a tick.
    block: String,
    /// An expression that begins with a tick.
    expression: String,
}

impl Texts {
    pub(super) fn new(names: &Names) -> Self {
        let guard = names.guard();
        let left = names.left();
        let tick = format!("--{guard}.n<0&&{guard}.t()");
        Self {
            // `|0` spares the check for an overflow that `--` has: half of what a chunk costs.
            count: format!("({left}={left}-1|0)>=0"),
            left,
            block: format!("{{{tick};"),
            expression: format!("({tick},"),
            tick: format!("{tick};"),
            guard,
        }
    }
}

/// What is in a stretch of the program.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent marks, each asked for by name")]
struct Facts {
    /// A function or a class: it could capture a binding that is made anew for each iteration.
    function: bool,
    /// `await` or `yield`: an iteration can take seconds.
    suspends: bool,
    /// A `break` or `continue` with a label, which would leave uncounted.
    labelled: bool,
    /// A `break` without a label, of this loop or of a `switch` in it.
    breaks: bool,
    /// A call or something like it.
    heavy: bool,
    loops: bool,
    /// A call of a function that may go without a tick.
    calls_free: bool,
}

impl Facts {
    const fn with(self, other: Self) -> Self {
        Self {
            function: self.function || other.function,
            suspends: self.suspends || other.suspends,
            labelled: self.labelled || other.labelled,
            breaks: self.breaks || other.breaks,
            heavy: self.heavy || other.heavy,
            loops: self.loops || other.loops,
            calls_free: self.calls_free || other.calls_free,
        }
    }

    const fn can_chunk(self) -> bool {
        !(self.function || self.suspends || self.labelled)
    }
}

/// Collects the edits that put the guard in.
pub(super) struct Guard<'s, 'e, 't, 'a> {
    text: &'s str,
    edits: &'e mut Edits<'t>,
    texts: &'t Texts,
    calls: &'e Calls<'a>,
    /// Numbers the nodes that get something, parents before children; 0 is outside of all.
    order: u32,
    /// What was met since the innermost loop or function began.
    facts: Facts,
    /// Whether the loop that comes next has a label, which it would lose in a chunk.
    labelled: bool,
}

impl<'s, 'e, 't, 'a> Guard<'s, 'e, 't, 'a> {
    pub(super) fn new(
        text: &'s str,
        edits: &'e mut Edits<'t>,
        texts: &'t Texts,
        calls: &'e Calls<'a>,
    ) -> Self {
        Self { text, edits, texts, calls, order: 0, facts: Facts::default(), labelled: false }
    }

    fn next_order(&mut self) -> u32 {
        self.order = self.order.saturating_add(1);
        self.order
    }

    /// A tick after the brace at `brace`.
    fn head(&mut self, brace: u32, order: u32) {
        self.edits.open(brace.saturating_add(1), order, self.texts.tick.as_str());
    }

    /// A tick before the value of an expression.
    fn wrap(&mut self, expression: Span, order: u32) {
        self.edits.open(expression.start, order, self.texts.expression.as_str());
        self.edits.close(expression.end, order, ")");
    }

    /// A tick at the head of a loop's body.
    fn plain(&mut self, body: &Statement<'_>, order: u32) {
        if let Statement::BlockStatement(block) = body {
            self.head(block.span.start, order);
        } else {
            self.edits.open(body.span().start, order, self.texts.block.as_str());
            self.edits.close(body.span().end, order, "}");
        }
    }

    fn braces(&mut self, body: &Statement<'_>, order: u32) {
        if !matches!(body, Statement::BlockStatement(_)) {
            self.edits.open(body.span().start, order, "{");
            self.edits.close(body.span().end, order, "}");
        }
    }

    /// Visits what is in a loop, and says what was met and whether the loop has a label.
    fn around(&mut self, walk: impl FnOnce(&mut Self)) -> (Facts, bool) {
        let labelled = std::mem::take(&mut self.labelled);
        let outer = std::mem::take(&mut self.facts);
        walk(self);
        let facts = self.facts;
        self.facts = outer.with(Facts { loops: true, breaks: false, ..facts });
        (facts, labelled)
    }

    /// Visits what is in a function, and says what was met.
    fn inside(&mut self, walk: impl FnOnce(&mut Self)) -> Facts {
        let outer = std::mem::take(&mut self.facts);
        walk(self);
        let facts = self.facts;
        self.facts = outer.with(Facts { function: true, breaks: false, ..facts });
        facts
    }

    /// The start of a chunk's loop, and what ends it and counts it.
    fn chunk(&self, facts: Facts) -> (String, String, String) {
        let (guard, left) = (&self.texts.guard, &self.texts.left);
        let light = !facts.heavy;
        let Chunk { iterations, shift } = if light { LIGHT } else { OTHER };
        let start = format!("let {left};do for({left}={iterations};{}", self.texts.count);
        let units = iterations.checked_shr(shift).unwrap_or(iterations);
        // A thousand iterations of an innermost light loop are microseconds, and the loop around counts.
        let rest = if light && !facts.loops {
            String::new()
        } else {
            format!("({guard}.n-={iterations}-{left}>>{shift})<0&&{guard}.t()")
        };
        let end = format!("while({left}<0&&{guard}.c({units}));{rest}}}");
        (start, end, format!("{left}={iterations};"))
    }

    /// What a counting loop is run in, when nothing leaves it: chunks that are told by its own
    /// variable, so that an iteration counts nothing else.
    fn counting_chunk(&self, counting: &Counting<'_>, facts: Facts) -> (String, String) {
        let (guard, left) = (&self.texts.guard, &self.texts.left);
        let Chunk { iterations, shift } = if facts.heavy { OTHER } else { LIGHT };
        let (name, to) = (counting.name, counting.to);
        let start =
            format!("let {left};do for({left}={name}+{iterations},{left}>{to}&&({left}={to});");
        let units = iterations.checked_shr(shift).unwrap_or(iterations);
        let rest = if facts.heavy || facts.loops {
            // The last chunk is not asked for; it may be a whole one.
            let last = (counting.steps() - 1.0).max(0.0) % f64::from(iterations) + 1.0;
            let units = (last / f64::from(1_u32.wrapping_shl(shift))).floor();
            format!("({guard}.n-={units})<0&&{guard}.t()")
        } else {
            String::new()
        };
        (start, format!("while({left}<{to}&&{guard}.c({units}));{rest}}}"))
    }

    fn chunk_for(&mut self, it: &ForStatement<'_>, facts: Facts, order: u32) -> Option<()> {
        let counting = Counting::of(it).filter(|_| !facts.breaks);
        let (start, end) = if let Some(counting) = &counting {
            self.counting_chunk(counting, facts)
        } else {
            let (start, end, _) = self.chunk(facts);
            (start, end)
        };
        let keyword = it.span.start.saturating_add(3);
        let opened = scan::after(self.text, keyword, "(")?;
        let before_semicolon = it.init.as_ref().map_or(opened, |init| init.span().end);
        let semicolon = scan::after(self.text, before_semicolon, ";")?;
        // As a statement, an expression must not begin with a brace.
        let bare = it.init.as_ref().filter(|init| init.as_expression().is_some());
        self.edits
            .replace(Span::new(it.span.start, opened), if bare.is_some() { "{(" } else { "{" });
        if let Some(init) = bare {
            self.edits.close(init.span().end, order, ")");
        }
        match (counting, &it.test) {
            (Some(Counting { name, test, .. }), _) => {
                self.edits.replace(test, format!("{start}{name}<{}", self.texts.left));
            }
            (None, Some(test)) => {
                self.edits.open(test.span().start, order, format!("{start}&&("));
                self.edits.close(test.span().end, order, ")");
            }
            (None, None) => self.edits.open(semicolon, order, start),
        }
        self.braces(&it.body, order);
        self.edits.close(it.span.end, order, end);
        Some(())
    }

    fn chunk_while(&mut self, it: &WhileStatement<'_>, facts: Facts, order: u32) {
        let (start, end, _) = self.chunk(facts);
        let test = it.test.span();
        self.edits.replace(Span::new(it.span.start, test.start), format!("{{{start}&&("));
        self.edits.close(test.end, order, ");");
        self.braces(&it.body, order);
        self.edits.close(it.span.end, order, end);
    }

    fn chunk_do(&mut self, it: &DoWhileStatement<'_>, facts: Facts, order: u32) {
        let (_, end, begin) = self.chunk(facts);
        let left = &self.texts.left;
        self.edits.open(it.span.start, order, format!("{{let {left};do{{{begin}"));
        self.braces(&it.body, order);
        let test = it.test.span();
        self.edits.open(test.start, order, "(");
        self.edits.close(test.end, order, format!(")&&{}", self.texts.count));
        self.edits.close(it.span.end, order, format!("}}{end}"));
    }

    /// A computed key: what it calls may make the class again.
    fn key(&mut self, key: &PropertyKey<'_>, computed: bool) {
        if computed {
            let order = self.next_order();
            self.wrap(key.span(), order);
        }
    }
}

impl<'a> VisitJs<'a> for Guard<'_, '_, '_, 'a> {
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
            walk_js::walk_class_element(self, it);
        }
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        let order = self.next_order();
        let facts = self.inside(|this| walk_js::walk_function(this, it, flags));
        let name = it.id.as_ref().filter(|_| it.r#type == FunctionType::FunctionDeclaration);
        let free = name.is_some_and(|name| self.calls.is_free(&name.name));
        if free && !facts.function && !facts.calls_free {
            return;
        }
        if let Some(body) = &it.body {
            self.head(body.span.start, order);
        }
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        let order = self.next_order();
        self.inside(|this| walk_js::walk_arrow_function_expression(this, it));
        match &it.body {
            ArrowFunctionBody::FunctionBody(body) => self.head(body.span.start, order),
            body => self.wrap(body.span(), order),
        }
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        self.inside(|this| walk_js::walk_class(this, it));
    }

    fn visit_static_block(&mut self, it: &StaticBlock<'a>) {
        let order = self.next_order();
        let keyword = it.span.start.saturating_add(6);
        if let Some(after) = scan::after(self.text, keyword, "{") {
            self.head(after.saturating_sub(1), order);
        }
        walk_js::walk_static_block(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        self.key(&it.key, it.computed);
        // A function without a name takes it from the field; wrapped it would lose it, and making
        // it runs nothing that has no tick of its own.
        if let Some(value) = it.value.as_ref().filter(|value| !is_named_by_field(value)) {
            let order = self.next_order();
            self.wrap(value.span(), order);
        }
        walk_js::walk_property_definition(self, it);
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        self.key(&it.key, it.computed);
        walk_js::walk_method_definition(self, it);
    }

    fn visit_try_statement(&mut self, it: &TryStatement<'a>) {
        let order = self.next_order();
        if let Some(finalizer) = &it.finalizer {
            self.head(finalizer.span.start, order);
        }
        walk_js::walk_try_statement(self, it);
    }

    fn visit_catch_clause(&mut self, it: &CatchClause<'a>) {
        let order = self.next_order();
        self.head(it.body.span.start, order);
        walk_js::walk_catch_clause(self, it);
    }

    fn visit_labeled_statement(&mut self, it: &LabeledStatement<'a>) {
        self.labelled = matches!(
            it.body,
            Statement::ForStatement(_)
                | Statement::WhileStatement(_)
                | Statement::DoWhileStatement(_)
        );
        self.visit_statement(&it.body);
    }

    fn visit_for_statement(&mut self, it: &ForStatement<'a>) {
        let order = self.next_order();
        let (facts, labelled) = self.around(|this| walk_js::walk_for_statement(this, it));
        if is_short(it, facts) {
            return;
        }
        let disposes = matches!(&it.init, Some(ForStatementInit::VariableDeclaration(init))
            if matches!(init.kind, VariableDeclarationKind::Using | VariableDeclarationKind::AwaitUsing));
        let chunked = !labelled && !disposes && facts.can_chunk();
        if !chunked || self.chunk_for(it, facts, order).is_none() {
            self.plain(&it.body, order);
        }
    }

    fn visit_while_statement(&mut self, it: &WhileStatement<'a>) {
        let order = self.next_order();
        let (facts, labelled) = self.around(|this| walk_js::walk_while_statement(this, it));
        if !labelled && facts.can_chunk() {
            self.chunk_while(it, facts, order);
        } else {
            self.plain(&it.body, order);
        }
    }

    fn visit_do_while_statement(&mut self, it: &DoWhileStatement<'a>) {
        let order = self.next_order();
        let (facts, labelled) = self.around(|this| walk_js::walk_do_while_statement(this, it));
        if !labelled && facts.can_chunk() {
            self.chunk_do(it, facts, order);
        } else {
            self.plain(&it.body, order);
        }
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        let order = self.next_order();
        self.around(|this| walk_js::walk_for_of_statement(this, it));
        self.facts.suspends |= it.r#await;
        self.plain(&it.body, order);
    }

    fn visit_for_in_statement(&mut self, it: &ForInStatement<'a>) {
        let order = self.next_order();
        self.around(|this| walk_js::walk_for_in_statement(this, it));
        self.plain(&it.body, order);
    }

    fn enter_node(&mut self, kind: AstKind<'a>) {
        match kind {
            AstKind::CallExpression(it) => {
                self.facts.heavy = true;
                if let Expression::Identifier(callee) = &it.callee {
                    self.facts.calls_free |= self.calls.is_free(&callee.name);
                }
            }
            AstKind::NewExpression(_)
            | AstKind::TaggedTemplateExpression(_)
            | AstKind::TemplateLiteral(_)
            | AstKind::SpreadElement(_)
            | AstKind::ArrayPattern(_)
            | AstKind::ArrayAssignmentTarget(_)
            | AstKind::ImportExpression(_)
            | AstKind::BigIntLiteral(_) => self.facts.heavy = true,
            AstKind::AwaitExpression(_) | AstKind::YieldExpression(_) => self.facts.suspends = true,
            AstKind::VariableDeclaration(it) => {
                self.facts.suspends |= it.kind == VariableDeclarationKind::AwaitUsing;
            }
            AstKind::BreakStatement(it) => match it.label {
                Some(_) => self.facts.labelled = true,
                None => self.facts.breaks = true,
            },
            AstKind::ContinueStatement(it) => self.facts.labelled |= it.label.is_some(),
            _ => {}
        }
    }
}

fn is_named_by_field(value: &Expression<'_>) -> bool {
    match value.get_inner_expression() {
        Expression::ArrowFunctionExpression(_) => true,
        Expression::FunctionExpression(it) => it.id.is_none(),
        Expression::ClassExpression(it) => it.id.is_none(),
        _ => false,
    }
}

/// Few steps, and no loop or function in it: straight-line code repeated.
fn is_short(it: &ForStatement<'_>, facts: Facts) -> bool {
    !facts.loops
        && !facts.function
        && Counting::of(it).is_some_and(|counting| counting.steps() <= SHORT_STEPS)
}
