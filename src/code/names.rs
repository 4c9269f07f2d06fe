//! Names for what we add to a program: ones that occur nowhere in it.

use std::collections::HashSet;

/// The names that stand for our things in one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    /// Number behind each name; 0 stands for no number.
    number: u32,
}

impl Names {
    /// Names that occur nowhere in `text`, written plainly or with escapes.
    pub(super) fn fresh(text: &str) -> Self {
        let mut taken = HashSet::new();
        collect(text, &mut taken);
        if text.contains("\\u") {
            collect(&unescaped(text), &mut taken);
        }
        let mut number = 0_u32;
        while taken.contains(&number) {
            number = number.saturating_add(1);
        }
        Self { number }
    }

    /// `letter` with what makes it fresh. [`LETTERS`] has the letters.
    fn name(&self, letter: char) -> String {
        if self.number == 0 { format!("${letter}") } else { format!("${letter}{}", self.number) }
    }

    /// The object of the ticks.
    pub(super) fn guard(&self) -> String {
        self.name('t')
    }

    /// The parameter that the object of the ticks comes in.
    pub(super) fn guard_parameter(&self) -> String {
        self.name('g')
    }

    /// What is left of a chunk of a loop.
    pub(super) fn left(&self) -> String {
        self.name('l')
    }

    /// The object that holds the ambient names.
    pub(super) fn runtime(&self) -> String {
        self.name('r')
    }

    /// The value of `export default`.
    pub(super) fn default(&self) -> String {
        self.name('d')
    }

    /// What the modules of a package export, by number of the module.
    pub(super) fn modules(&self) -> String {
        self.name('m')
    }

    /// Who is told of assignments to an export, by its name.
    pub(super) fn told(&self) -> String {
        self.name('s')
    }

    /// Tells them.
    pub(super) fn tell(&self) -> String {
        self.name('u')
    }

    /// A value that passes through.
    pub(super) fn value(&self) -> String {
        self.name('v')
    }

    /// One of those who are told.
    pub(super) fn each(&self) -> String {
        self.name('f')
    }
}

/// The letters that follow the `$` of our names.
const LETTERS: [u8; 10] = *b"tglrdmsuvf";

/// Collects the numbers of what could be one of our names.
fn collect(text: &str, taken: &mut HashSet<u32>) {
    for (at, _) in text.match_indices('$') {
        let rest = text.get(at.saturating_add(1)..).unwrap_or("").as_bytes();
        let Some((letter, rest)) = rest.split_first() else { continue };
        if LETTERS.contains(letter) {
            // Ten digits are more than there are numbers to try.
            let digits = rest.iter().take(10).take_while(|byte| byte.is_ascii_digit());
            let number = digits.fold(0_u32, |number, digit| {
                number.saturating_mul(10).saturating_add(u32::from(digit.saturating_sub(b'0')))
            });
            taken.insert(number);
        }
    }
}

/// `text` with `\uXXXX` and `\u{X}` written out, wherever they stand.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\u") {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let digits = escape.get(2..).unwrap_or("");
        let (digits, length) = match digits.strip_prefix('{') {
            Some(braced) => {
                let end = braced.bytes().take(16).position(|byte| byte == b'}').unwrap_or(0);
                (braced.get(..end).unwrap_or(""), end.saturating_add(4))
            }
            None => (digits.get(..4).unwrap_or(""), 6),
        };
        let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
        if let (Some(c), Some(after)) = (c, escape.get(length..)) {
            out.push(c);
            rest = after;
        } else {
            out.push_str("\\u");
            rest = escape.get(2..).unwrap_or("");
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_occur_nowhere_in_the_program() {
        let cases = [
            ("let a = 1;", "$t"),
            ("let $t = 1;", "$t1"),
            ("let $l = 1, $t2 = 2;", "$t1"),
            ("let $r = 1, $t1 = 2;", "$t2"),
            (r"let \u0024t = 1;", "$t1"),
            (r"let $\u{74} = 1, \u{0024}\u{0000074}1 = 2;", "$t2"),
            (r"let $\u{7} = 1, \u = 2, \u{", "$t"),
            ("let $t00 = 1", "$t1"),
        ];
        for (text, guard) in cases {
            assert_eq!(Names::fresh(text).guard(), guard, "{text}");
        }
    }
}
