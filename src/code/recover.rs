//! Finds the program in what was sent: plain text, Markdown around a fence, a bare expression.
//!
//! Whatever is found keeps its offsets: text around a fence becomes white space, so that every
//! place in the tree is a place in what the author sent.

use std::fmt::Write as _;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Expression, Program, Statement};
use oxc_ast_visit::VisitJs;
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;

use super::nesting;
use super::position::{Position, is_line_end};
use super::refusal::Refusal;
use super::survey::Survey;

/// A program that parsed.
#[derive(Debug)]
pub(super) struct Recovered<'a> {
    /// What was parsed: the author's text, or the same with white space around the program.
    pub(super) text: &'a str,
    pub(super) tree: Tree<'a>,
    pub(super) survey: Survey<'a>,
}

/// What the text parsed as.
#[derive(Debug)]
pub(super) enum Tree<'a> {
    Program(Program<'a>),
    Expression(Expression<'a>),
}

impl<'a> Tree<'a> {
    /// Shows the tree to `visitor`.
    pub(super) fn visit(&self, visitor: &mut impl VisitJs<'a>) {
        match self {
            Self::Program(program) => visitor.visit_program(program),
            Self::Expression(expression) => visitor.visit_expression(expression),
        }
    }
}

/// Brackets of a text that is parsed once more, with JSX, to name what is wrong with it: in the worst
/// case it is nested as deep, and the stack holds 300 of anything.
const MOST_BRACKETS_WITH_JSX: usize = 250;

/// Labels of a fence that holds a program, in lower case.
const LABELS: [&str; 8] = ["js", "javascript", "mjs", "ts", "typescript", "mts", "jsx", "tsx"];

/// The characters that editors make of straight quotes.
const CURLY_QUOTES: [char; 8] = ['“', '”', '„', '‟', '‘', '’', '‚', '‛'];

/// Finds the program in `text`, which has no byte order mark.
pub(super) fn recover<'a>(
    allocator: &'a Allocator,
    text: &'a str,
) -> Result<Recovered<'a>, Refusal> {
    let plain = parse(allocator, text);
    if let Ok(found) = &plain
        && !found.survey.fence
    {
        return plain;
    }
    let fenced = fence(text).map(|range| allocator.alloc_str(&only(text, &range)));
    let (text, refusal) = match (plain, fenced) {
        (_, Some(fenced)) => match parse(allocator, fenced) {
            Ok(found) => return Ok(found),
            Err(refusal) => (fenced, refusal),
        },
        // A template literal as a tag, but no fence: so be it.
        (Ok(found), None) => return Ok(found),
        (Err(refusal), None) => (text, refusal),
    };
    match expression(allocator, text) {
        Some(found) => Ok(found),
        None => Err(refusal),
    }
}

fn source_type() -> SourceType {
    SourceType::ts().with_module(true)
}

fn options() -> ParseOptions {
    ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() }
}

/// Parses a module of a package: as it stands, without a `return` at the top.
pub(super) fn module<'a>(
    allocator: &'a Allocator,
    text: &'a str,
) -> Result<Recovered<'a>, Refusal> {
    tree(allocator, text, ParseOptions::default())
}

/// Parses `text` as a TypeScript module in which `return` and `await` may stand at the top.
fn parse<'a>(allocator: &'a Allocator, text: &'a str) -> Result<Recovered<'a>, Refusal> {
    let found = tree(allocator, text, options())?;
    if let Tree::Program(program) = &found.tree
        && is_labelled_block(program)
        && let Some(found) = expression(allocator, text)
    {
        return Ok(found);
    }
    Ok(found)
}

fn tree<'a>(
    allocator: &'a Allocator,
    text: &'a str,
    options: ParseOptions,
) -> Result<Recovered<'a>, Refusal> {
    nesting::check(text)?;
    let parsed = Parser::new(allocator, text, source_type()).with_options(options).parse();
    if let Some(error) = parsed.diagnostics.errors().next() {
        return Err(refusal(allocator, text, error));
    }
    if parsed.panicked {
        return Err(Refusal::without_place("the program cannot be parsed"));
    }
    let mut survey = Survey::default();
    survey.visit_program(&parsed.program);
    Ok(Recovered { text, tree: Tree::Program(parsed.program), survey })
}

/// Parses `text` as one expression, a semicolon after it aside.
fn expression<'a>(allocator: &'a Allocator, text: &'a str) -> Option<Recovered<'a>> {
    nesting::check(text).ok()?;
    let bare = text.trim_end().strip_suffix(';').unwrap_or(text);
    let parser = Parser::new(allocator, bare, source_type()).with_options(options());
    let expression = parser.parse_expression().ok()?;
    let mut survey = Survey::default();
    survey.visit_expression(&expression);
    let text = if bare.len() == text.len() {
        text
    } else {
        allocator.alloc_str(&only(text, &(0..bare.len())))
    };
    Some(Recovered { text, tree: Tree::Expression(expression), survey })
}

/// `{ total: 42 }` parses as a block with a label, and gives nothing: it was meant as an object.
fn is_labelled_block(program: &Program<'_>) -> bool {
    let [Statement::BlockStatement(block)] = program.body.as_slice() else { return false };
    let [Statement::LabeledStatement(label)] = block.body.as_slice() else { return false };
    program.directives.is_empty() && matches!(label.body, Statement::ExpressionStatement(_))
}

/// Says what the parser says, at its place, and what is behind it if that is known.
fn refusal(allocator: &Allocator, text: &str, error: &OxcDiagnostic) -> Refusal {
    let at = error.labels.first().map_or(text.len(), |label| {
        usize::try_from(label.offset()).unwrap_or(text.len()).min(text.len())
    });
    let rest = text.get(at..).unwrap_or("");
    let found = rest.chars().next();
    if let Some(quote) = found.filter(|c| CURLY_QUOTES.contains(c)) {
        let what = format!(
            "{quote} is a curly quote; around a string the quotes must be straight (\" or ')"
        );
        return Refusal::at(text, at, what);
    }
    if let Some(place) = jsx(allocator, text) {
        return Refusal::at(text, place, "JSX is not supported");
    }
    let mut what = error.message.trim_end_matches('.').to_owned();
    if let Some(help) = &error.help {
        what.push_str(". ");
        what.push_str(help);
    }
    if let Some((place, quote)) = text.char_indices().find(|(_, c)| CURLY_QUOTES.contains(c)) {
        let line = Position::of(text, place).line;
        let _ = write!(
            what,
            ". The text has curly quotes ({quote} on line {line}); around a string the quotes must be straight"
        );
    }
    Refusal::at(text, at, what)
}

/// Where the first JSX element is, if the text parses with JSX allowed.
fn jsx(allocator: &Allocator, text: &str) -> Option<usize> {
    // The scan of the nesting cannot see into JSX.
    let brackets = text.bytes().filter(|byte| b"<({[".contains(byte)).count();
    if brackets > MOST_BRACKETS_WITH_JSX || (!text.contains("</") && !text.contains("/>")) {
        return None;
    }
    let text = allocator.alloc_str(text);
    let parser = Parser::new(allocator, text, source_type().with_jsx(true)).with_options(options());
    let parsed = parser.parse();
    if parsed.diagnostics.has_errors() || parsed.panicked {
        return None;
    }
    let mut survey = Survey::default();
    survey.visit_program(&parsed.program);
    survey.jsx
}

/// `text` with white space for everything outside of `range`, its line ends kept.
fn only(text: &str, range: &std::ops::Range<usize>) -> String {
    let blank = |part: Option<&str>| -> String {
        let spaces = |c: char| {
            let kept = if is_line_end(c) { c } else { ' ' };
            std::iter::repeat_n(kept, if is_line_end(c) { 1 } else { c.len_utf8() })
        };
        part.unwrap_or("").chars().flat_map(spaces).collect()
    };
    let mut out = blank(text.get(..range.start));
    out.push_str(text.get(range.clone()).unwrap_or(""));
    out.push_str(&blank(text.get(range.end..)));
    out
}

/// Where the program is: in the first fence with a label of ours, else in the first without one.
///
/// A fence that is never closed runs to the end.
fn fence(text: &str) -> Option<std::ops::Range<usize>> {
    let mut unlabelled = None;
    let mut lines = lines(text);
    while let Some((start, line)) = lines.next() {
        let Some(opening) = Opening::read(line) else { continue };
        if let Some(inline) = opening.inline.clone() {
            unlabelled = unlabelled
                .or(Some(start.saturating_add(inline.start)..start.saturating_add(inline.end)));
            continue;
        }
        let begin = start.saturating_add(line.len());
        let mut end = text.len();
        for (at, line) in lines.by_ref() {
            if opening.is_closed_by(line) {
                end = at;
                break;
            }
        }
        let label = opening.label.to_ascii_lowercase();
        if LABELS.contains(&label.as_str()) {
            return Some(begin..end);
        }
        if label.is_empty() && unlabelled.is_none() {
            unlabelled = Some(begin..end);
        }
    }
    unlabelled
}

/// Offset and text of each line, without its end.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let end = rest.find('\n').map_or(rest.len(), |at| at.saturating_add(1));
        let line = (start, rest.get(..end)?.trim_end_matches(['\n', '\r']));
        start = start.saturating_add(end);
        Some(line)
    })
}

/// The line that opens a fence.
#[derive(Debug)]
struct Opening<'t> {
    mark: char,
    marks: usize,
    label: &'t str,
    /// The text between, when the fence closes on the same line.
    inline: Option<std::ops::Range<usize>>,
}

impl<'t> Opening<'t> {
    fn read(line: &'t str) -> Option<Self> {
        let (mark, marks, rest) = marks(line)?;
        let info = rest.trim();
        let label = |info: &'t str| {
            info.split(|c: char| c.is_whitespace() || matches!(c, '{' | ',' | ':'))
                .next()
                .unwrap_or("")
        };
        if mark == '`' && info.contains('`') {
            let inside = info.strip_suffix("```").filter(|inside| !inside.contains('`'))?;
            let start = line.find(inside)?;
            let word = label(inside);
            let labelled = LABELS.contains(&word.to_ascii_lowercase().as_str());
            let from = if labelled { start.saturating_add(word.len()) } else { start };
            let inline = Some(from..start.saturating_add(inside.len()));
            return Some(Self { mark, marks, label: "", inline });
        }
        Some(Self { mark, marks, label: label(info), inline: None })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        marks(line).is_some_and(|(mark, marks, rest)| {
            mark == self.mark && marks >= self.marks && rest.trim().is_empty()
        })
    }
}

/// The mark of a fence, how many there are, and what follows.
fn marks(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let marks = line.len().saturating_sub(rest.len());
    (marks >= 3).then_some((mark, marks, rest))
}
