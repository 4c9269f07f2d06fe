//! How deep a text is nested, found before it is parsed.
//!
//! The parser and everything after it call themselves for what is nested, and a stack that
//! overflows ends the whole isolate. So a scan of the tokens, which calls itself for nothing, adds
//! up what each open construct can take of the stack, and a text that could take too much is refused.
//!
//! The rule: never less than the parser uses; for ordinary programs not much more. Without a parser
//! it is not always known where a statement ends or whether a `/` begins a regular expression. What
//! is not known is counted both ways.
//!
//! The parser also tries what `(` and `<` begin, and reads the same text again when it was something
//! else: the parameters of an arrow, type arguments. Inside each other, that is once more for each
//! level, so it is counted, too.

use super::edits::offset;
use super::position::is_line_end;
use super::refusal::Refusal;
use super::scan::{is_name, is_space, skip_trivia};

/// Units that a text may take. One is 1/6,000 of what a Wasm instance has (1 MiB, and V8's own stack).
///
/// Measured on a release build for wasm32 in V8, by the depth at which the stack overflowed: brackets
/// at 743, functions at 380, statements at 1,453, operators at 1,800 to 4,400. 2,400 units are two
/// fifths of it: the rest is for who calls us, and for builds that are less optimised.
const MOST_UNITS: u32 = 2_400;

/// Bytes that may be read again, besides four times the text. Programs of people have a few
/// percent; a second of reading is some 10 MB.
const MOST_READ_AGAIN: usize = 2_000_000;

const BRACKET: u32 = 8;
const FUNCTION: u32 = 8;
const CLASS: u32 = 4;
const STATEMENT: u32 = 4;
/// Assignments, arrows, conditionals, labels.
const RIGHTWARD: u32 = 4;
const PREFIX_WORD: u32 = 3;
const PREFIX: u32 = 2;
/// A binary operator of a precedence that was not met yet in the same expression.
const BINARY: u32 = 2;

/// Refuses a text that is nested deeper than the parser's stack allows.
pub(super) fn check(text: &str) -> Result<(), Refusal> {
    let mut scan = Scan::new(text);
    match scan.run() {
        Ok(()) => Ok(()),
        Err(Stop::TooDeep) => Err(Refusal::at(
            text,
            scan.at,
            "the program is nested too deep; use fewer levels, or more functions and variables",
        )),
        Err(Stop::Unclear) => Err(Refusal::at(
            text,
            scan.at,
            "this `/` could begin a regular expression or divide; put the regular expression in parentheses",
        )),
    }
}

/// Why the scan ends early.
#[derive(Debug)]
enum Stop {
    TooDeep,
    /// The text would continue in two ways that differ.
    Unclear,
}

/// What the last token was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// An operator, or what else an expression or statement can follow.
    Operator,
    /// The end of an expression, or of a type.
    Operand,
    /// A brace that closed a block or an object.
    Brace,
    /// A word that is a name in some places and an operator in others, or `>`.
    Either,
    /// A semicolon.
    Semicolon,
    /// `.` or `?.`: a name follows, whatever word it is.
    Dot,
}

/// What a bracket was opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Top,
    Round,
    /// The head of `if`, `for`, `while`, `with`: a statement follows.
    Head,
    Square,
    Curly,
    /// `${` in a template.
    Template,
}

/// One level of brackets, and what is open within.
#[derive(Debug, Clone, Copy)]
struct Level {
    open: Open,
    /// Units of all that is around.
    around: u32,
    /// Units of statements that have no braces.
    statements: u32,
    /// Units of operators that reach to the right.
    operators: u32,
    /// Units of type arguments that are open.
    angles: u32,
    /// Precedences of the binary operators in the expression.
    binary: u16,
    /// How many brackets around were tried as something else.
    tries: u32,
}

impl Level {
    const fn new(open: Open, around: u32, tries: u32) -> Self {
        Self { open, around, statements: 0, operators: 0, angles: 0, binary: 0, tries }
    }

    /// How often what stands here is read again.
    fn read_again(&self) -> u32 {
        self.tries.saturating_add(self.angles / BRACKET)
    }

    fn units(&self) -> u32 {
        let binary = self.binary.count_ones().saturating_mul(BINARY);
        [self.around, self.statements, self.operators, self.angles, binary]
            .into_iter()
            .fold(0, u32::saturating_add)
    }

    fn end_expression(&mut self) {
        self.operators = 0;
        self.binary = 0;
    }

    fn end_statement(&mut self) {
        self.end_expression();
        self.statements = 0;
        self.angles = 0;
    }
}

struct Scan<'s> {
    text: &'s str,
    at: usize,
    level: Level,
    outer: Vec<Level>,
    last: Last,
    /// Bytes that the parser reads more than once.
    read_again: usize,
    /// Whether a line ended since the last token.
    new_line: bool,
    /// Whether the last word was `if`, `for`, `while` or `with`.
    head: bool,
    /// Whether a name with dots is being read that nests with each of them.
    dotted: bool,
}

impl<'s> Scan<'s> {
    fn new(text: &'s str) -> Self {
        Self {
            text,
            at: 0,
            level: Level::new(Open::Top, 0, 0),
            read_again: 0,
            outer: Vec::new(),
            last: Last::Operator,
            new_line: true,
            head: false,
            dotted: false,
        }
    }

    fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes).min(self.text.len());
    }

    /// Skips up to what `is_end` finds, or to the end.
    fn skip_to(&mut self, is_end: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.skip(rest.find(is_end).unwrap_or(rest.len()));
    }

    fn run(&mut self) -> Result<(), Stop> {
        if self.text.starts_with("#!") {
            self.skip_to(is_line_end);
        }
        let most = MOST_READ_AGAIN.saturating_add(self.text.len().saturating_mul(4));
        while let Some(c) = self.rest().chars().next() {
            let from = self.at;
            if is_line_end(c) {
                self.new_line = true;
                self.skip(c.len_utf8());
            } else if is_space(c) {
                self.skip(c.len_utf8());
            } else if self.rest().starts_with("//") {
                self.skip_to(is_line_end);
            } else if let Some(comment) = self.rest().strip_prefix("/*") {
                let length = comment.find("*/").map_or(comment.len(), |end| end.saturating_add(2));
                self.new_line |= comment.get(..length).is_some_and(|it| it.contains(is_line_end));
                self.skip(length.saturating_add(2));
            } else {
                self.token(c)?;
                self.new_line = false;
            }
            let length = self.at.saturating_sub(from);
            let times = usize::try_from(self.level.read_again()).unwrap_or(usize::MAX);
            self.read_again = self.read_again.saturating_add(length.saturating_mul(times));
            if self.level.units() > MOST_UNITS || self.read_again > most {
                return Err(Stop::TooDeep);
            }
        }
        Ok(())
    }

    fn token(&mut self, c: char) -> Result<(), Stop> {
        if is_name(c) || c == '#' || c == '@' || !c.is_ascii() {
            self.word();
            return Ok(());
        }
        let head = std::mem::take(&mut self.head);
        if c != '.' {
            self.dotted = false;
        }
        if self.last == Last::Semicolon {
            self.level.end_statement();
        }
        match c {
            '"' | '\'' => {
                self.before_operand();
                self.string(c);
                self.last = Last::Operand;
            }
            '`' => {
                self.skip(1);
                self.template();
            }
            '(' if head => self.open(Open::Head, STATEMENT),
            '(' => self.open(Open::Round, 0),
            '[' => self.open(Open::Square, 0),
            '{' => self.open(Open::Curly, 0),
            ')' | ']' | '}' => self.close(c),
            ';' => {
                self.skip(1);
                self.last = Last::Semicolon;
            }
            ',' => {
                self.skip(1);
                self.level.end_expression();
                self.last = Last::Operator;
            }
            '/' => self.slash()?,
            _ => self.operator(),
        }
        Ok(())
    }

    fn add(&mut self, units: u32) {
        self.level.operators = self.level.operators.saturating_add(units);
    }

    /// An operand can only follow another where a statement ended between them.
    fn before_operand(&mut self) {
        if matches!(self.last, Last::Operand | Last::Brace) {
            self.level.end_statement();
        }
    }

    fn word(&mut self) {
        let rest = self.rest();
        let length = word_length(rest);
        let word = rest.get(..length).unwrap_or("");
        self.skip(length);
        if word.starts_with(|c: char| c.is_ascii_digit()) && self.rest().starts_with('.') {
            // `1.` is a number, and not one to take a property of.
            self.skip(1);
            self.skip_to(|c| !is_name(c));
        }
        let was = std::mem::replace(&mut self.last, Last::Operand);
        let head = std::mem::take(&mut self.head);
        if was == Last::Dot {
            return;
        }
        let continues = matches!(word, "else" | "while" | "catch" | "finally");
        let operator = matches!(
            word,
            "as" | "satisfies" | "in" | "instanceof" | "of" | "extends" | "is" | "implements"
        );
        match was {
            Last::Semicolon if continues => self.level.end_expression(),
            Last::Semicolon => self.level.end_statement(),
            Last::Operand | Last::Brace if !continues && !operator => self.level.end_statement(),
            Last::Operand | Last::Brace if continues => self.level.end_expression(),
            _ => {}
        }
        self.last = match word {
            "if" | "while" | "with" | "for" => {
                self.head = true;
                Last::Operator
            }
            "await" if head => {
                self.head = true;
                Last::Operator
            }
            "case" | "default" => {
                self.level.end_statement();
                Last::Operator
            }
            "do" => {
                self.level.statements = self.level.statements.saturating_add(STATEMENT);
                Last::Operator
            }
            "function" => {
                self.add(FUNCTION);
                Last::Operator
            }
            "class" | "extends" => {
                self.add(CLASS);
                Last::Operator
            }
            "typeof" | "void" | "delete" | "await" | "new" | "yield" | "throw" => {
                self.add(PREFIX_WORD);
                Last::Operator
            }
            "keyof" | "infer" | "readonly" | "unique" | "asserts" | "abstract" => {
                self.add(PREFIX_WORD);
                Last::Either
            }
            "in" | "instanceof" => {
                self.level.binary |= 1 << 7;
                Last::Operator
            }
            "as" | "satisfies" | "is" => {
                self.level.binary |= 1 << 7;
                Last::Either
            }
            "namespace" | "module" => {
                self.dotted = true;
                Last::Either
            }
            "else" | "return" | "try" | "finally" | "switch" | "catch" | "const" | "var"
            | "export" | "import" | "enum" => Last::Operator,
            "of" | "out" | "let" | "using" | "type" | "interface" | "declare" | "implements"
            | "async" | "static" | "public" | "private" | "protected" | "override" | "accessor"
            | "get" | "set" => Last::Either,
            _ => Last::Operand,
        };
    }

    fn string(&mut self, quote: char) {
        self.skip(1);
        loop {
            self.skip_to(|c| c == quote || matches!(c, '\\' | '\n' | '\r'));
            let mut rest = self.rest().chars();
            match rest.next() {
                Some('\\') => self.skip(rest.next().map_or(1, |c| c.len_utf8().saturating_add(1))),
                Some(c) if c == quote => return self.skip(1),
                _ => return,
            }
        }
    }

    /// The text of a template, up to its end or to what is put into it.
    fn template(&mut self) {
        loop {
            self.skip_to(|c| matches!(c, '`' | '\\' | '$'));
            let rest = self.rest();
            if rest.starts_with("${") {
                self.skip(1);
                self.open(Open::Template, 0);
                return;
            }
            let mut chars = rest.chars();
            match chars.next() {
                Some('\\') => self.skip(chars.next().map_or(1, |c| c.len_utf8().saturating_add(1))),
                Some('$') => self.skip(1),
                Some(_) => {
                    self.skip(1);
                    self.last = Last::Operand;
                    return;
                }
                None => return,
            }
        }
    }

    fn open(&mut self, open: Open, statement: u32) {
        let again = open == Open::Round && self.last != Last::Operand && self.may_be_parameters();
        self.skip(1);
        self.level.statements = self.level.statements.saturating_add(statement);
        let tries = self.level.read_again().saturating_add(u32::from(again));
        let inner = Level::new(open, self.level.units().saturating_add(BRACKET), tries);
        self.outer.push(std::mem::replace(&mut self.level, inner));
        self.last = Last::Operator;
    }

    /// Whether the parser tries this parenthesis as an arrow's parameters before it knows.
    fn may_be_parameters(&self) -> bool {
        let after = |at: u32| {
            let at = skip_trivia(self.text, at);
            (at, self.text.get(offset(at)..).unwrap_or(""))
        };
        let Ok(inside) = u32::try_from(self.at.saturating_add(1)) else { return true };
        let (at, rest) = after(inside);
        let word = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        if word == 0 {
            return rest.starts_with(['[', '{', '.']);
        }
        let (_, rest) = after(at.saturating_add(u32::try_from(word).unwrap_or(u32::MAX)));
        rest.starts_with([',', '=', ')'])
    }

    fn close(&mut self, c: char) {
        self.skip(1);
        let open = self.level.open;
        let fits = match c {
            ')' => matches!(open, Open::Round | Open::Head),
            ']' => open == Open::Square,
            _ => matches!(open, Open::Curly | Open::Template),
        };
        // What does not fit ends the parser, too.
        if fits && let Some(outer) = self.outer.pop() {
            self.level = outer;
        }
        self.last = match open {
            Open::Head => Last::Operator,
            Open::Curly => Last::Brace,
            _ => Last::Operand,
        };
        if fits && open == Open::Template {
            self.template();
        }
    }

    /// A `/` that begins no comment.
    fn slash(&mut self) -> Result<(), Stop> {
        let divides = match self.last {
            Last::Operator | Last::Semicolon => Some(false),
            // A type ends at a line end, where an expression goes on.
            Last::Operand => (!self.new_line).then_some(true),
            Last::Brace | Last::Either | Last::Dot => None,
        };
        let body = regular_expression(self.rest());
        match (divides, body) {
            (Some(true), _) | (None, None) => {
                self.skip(1);
                self.level.binary |= 1 << 10;
                self.last = Last::Operator;
            }
            (Some(false), body) => {
                self.skip(body.map_or(1, |body| body.len().saturating_add(2)));
                self.skip_to(|c| !is_name(c));
                self.last = Last::Operand;
            }
            (None, Some(body)) => {
                self.either(body)?;
                self.last = Last::Either;
            }
        }
        Ok(())
    }

    /// A regular expression with this body, or two divisions.
    fn either(&mut self, body: &str) -> Result<(), Stop> {
        // A division could not have a backslash.
        let code = body.split('\\').next().unwrap_or("");
        let leaves_template = self.level.open == Open::Template && code.contains('}');
        let after = self.rest().get(body.len().saturating_add(2)..).unwrap_or("");
        if code.contains(['"', '\'', '`', '/'])
            || leaves_template
            || after.trim_start().starts_with('/')
        {
            return Err(Stop::Unclear);
        }
        let opened = code.bytes().filter(|byte| b"([{<".contains(byte)).count();
        self.add(u32::try_from(opened).unwrap_or(u32::MAX).saturating_mul(BRACKET));
        self.level.binary |= 1 << 10;
        self.skip(body.len().saturating_add(2));
        Ok(())
    }

    fn operator(&mut self) {
        let rest = self.rest();
        let was = self.last;
        // Most have one character, and the next one says so.
        let long = rest.as_bytes().get(1).is_some_and(|byte| b".=>&|?+-*<".contains(byte));
        let length = OPERATORS
            .iter()
            .find(|operator| long && rest.starts_with(**operator))
            .map_or(1, |operator| operator.len());
        let operator = rest.get(..length).unwrap_or("");
        self.skip(length);
        self.last = match operator {
            "." | "?." => {
                if self.dotted {
                    self.add(1);
                }
                Last::Dot
            }
            // After a line end these belong to what follows.
            "++" | "--" | "!" => {
                self.add(PREFIX);
                match was {
                    Last::Operand if !self.new_line => Last::Operand,
                    Last::Brace | Last::Either => Last::Either,
                    _ => Last::Operator,
                }
            }
            "+" | "-" => {
                self.level.binary |= 1 << 9;
                if was != Last::Operand {
                    self.add(PREFIX);
                }
                Last::Operator
            }
            "<" => {
                self.level.angles = self.level.angles.saturating_add(BRACKET);
                self.level.binary |= 1 << 7;
                Last::Operator
            }
            ">" => {
                self.level.angles = self.level.angles.saturating_sub(BRACKET);
                self.add(PREFIX);
                Last::Either
            }
            "=>" | "?" | ":" => {
                self.rightward();
                Last::Operator
            }
            "**" | "~" => {
                self.add(PREFIX);
                Last::Operator
            }
            _ => {
                match binary(operator) {
                    Some(precedence) => self.level.binary |= 1 << precedence,
                    None if operator.ends_with('=') => self.rightward(),
                    None => {}
                }
                Last::Operator
            }
        };
    }

    /// What stands to the right of this begins anew.
    fn rightward(&mut self) {
        let binary = self.level.binary.count_ones().saturating_mul(BINARY);
        self.level.binary = 0;
        self.add(RIGHTWARD.saturating_add(binary));
    }
}

/// Bytes of the word that `text` begins with; whatever its first character is, it is part of it.
fn word_length(text: &str) -> usize {
    // Nearly all are ASCII, and a byte is read sooner than a character.
    let ends = |byte: u8| !(byte.is_ascii_alphanumeric() || b"$_\\".contains(&byte));
    match text.bytes().enumerate().skip(1).find(|(_, byte)| ends(*byte)) {
        Some((at, byte)) if byte.is_ascii() => at,
        Some(_) => word_length_by_characters(text),
        None => text.len(),
    }
}

fn word_length_by_characters(text: &str) -> usize {
    text.char_indices()
        .skip(1)
        .find(|(_, c)| !is_name(*c) && (c.is_ascii() || is_space(*c) || is_line_end(*c)))
        .map_or(text.len(), |(at, _)| at)
}

/// Operators of more than one character that are read as one, the longest first. `>` is read alone:
/// it may close type arguments.
const OPERATORS: [&str; 28] = [
    "...", "===", "!==", "**=", "<<=", "&&=", "||=", "??=", "=>", "==", "!=", "<=", "&&", "||",
    "??", "?.", "++", "--", "+=", "-=", "*=", "%=", "&=", "|=", "^=", "**", "<<", ">=",
];

/// The precedence of a binary operator that leans to the left.
fn binary(operator: &str) -> Option<u32> {
    Some(match operator {
        "??" => 0,
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" | "===" | "!==" => 6,
        "<=" | ">=" => 7,
        "<<" => 8,
        "*" | "%" => 10,
        _ => return None,
    })
}

/// The body of the regular expression that `text` begins with, if it ends on its line.
fn regular_expression(text: &str) -> Option<&str> {
    let body = text.get(1..)?;
    let mut class = false;
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next().filter(|(_, c)| !is_line_end(*c))?;
            }
            '[' => class = true,
            ']' => class = false,
            '/' if !class => return body.get(..at),
            c if is_line_end(c) => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    //! Bytes and characters tell the same words.

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_word_ends_where_its_characters_end(text in "[#@a-zß\\u{2028} 0-9_$.\\\\é(]{1,12}") {
            prop_assert_eq!(word_length(&text), word_length_by_characters(&text));
        }
    }
}
