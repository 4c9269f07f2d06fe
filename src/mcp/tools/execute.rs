//! `execute`: runs a program.

use super::Guide;
use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::{Value, value::RawValue};

pub(super) const NAME: &str = "execute";

const ARGUMENTS: [&str; 5] = ["code", "params", "budgetMs", "label", "idempotencyKey"];

/// Characters of a label: a line on a page.
const LABEL_CHARS: usize = 200;

/// Characters of an idempotency key: a UUID or a hash with a prefix, and room to spare.
const KEY_CHARS: usize = 255;

/// A program to run.
#[derive(Debug, Clone)]
pub struct Execute {
    /// The program, as the client sent it.
    pub code: String,
    /// What the program sees as `params`: an object, kept as JSON text so that its keys stay in
    /// their order.
    pub params: Option<Box<RawValue>>,
    /// A budget of autonomous compute below the usual one, in milliseconds.
    pub budget_ms: Option<u64>,
    /// A name for people.
    pub label: Option<String>,
    /// The same key with the same program gives the stored answer.
    pub idempotency_key: Option<String>,
}

impl Execute {
    pub(super) fn read(mut arguments: Arguments<'_>, budget_ms: u64) -> Result<Self, Fault> {
        // The length of a program is a limit of the run, which has an outcome that says so.
        let call = Self {
            code: arguments.required_text("code", usize::MAX),
            params: arguments.object("params"),
            budget_ms: arguments.integer("budgetMs", &(1..=budget_ms)),
            label: arguments.text("label", LABEL_CHARS),
            idempotency_key: arguments.text("idempotencyKey", KEY_CHARS),
        };
        arguments.finish(NAME, &ARGUMENTS, call)
    }
}

pub(super) fn definition(guide: &Guide) -> Value {
    let mut definition = super::parse(include_str!("execute.json"));
    let maximum = definition.pointer_mut("/inputSchema/properties/budgetMs/maximum");
    if let Some(maximum) = maximum {
        *maximum = guide.budget_ms.into();
    }
    if let Some(text) = definition.get_mut("description") {
        *text = description(guide).into();
    }
    definition
}

/// What a model reads before it writes a program. Every word costs each conversation, so it
/// says what a program must look like and what ends it, and no more.
fn description(guide: &Guide) -> String {
    let mut out = format!(
        "Runs a JavaScript or TypeScript program in a sandbox and answers with its result. \
         Write a function body, an expression, or a module with a default export; await works at \
         the top, and the result is what is returned. At hand are tools, params, console and \
         sleep(ms). Each tool takes one object and returns a value{}. \
         tool_search finds tools, tool_describe says how one is called; in a program \
         tools.search({{ query }}) and tools.describe({{ path }}) do. \
         A program has {} of its own time, sleep included; waiting on tools does not count.",
        example(guide),
        seconds(guide.budget_ms)
    );
    if !guide.built_in.is_empty() {
        out.push_str(" Built in: ");
        out.push_str(&guide.built_in.join(", "));
        out.push('.');
    }
    if !guide.sources.is_empty() {
        out.push_str(" Connected sources: ");
        out.push_str(&guide.sources.join(", "));
        out.push('.');
    }
    if let Some(longer_work) = &guide.longer_work {
        out.push(' ');
        out.push_str(longer_work);
    }
    out
}

/// A call to go by, where the policy does not hide it.
fn example(guide: &Guide) -> &'static str {
    if guide.built_in.iter().any(|name| name == "storage.get") {
        ": const { value } = await tools.storage.get({ key: \"a\" })"
    } else {
        ""
    }
}

/// Whole seconds as `90 s`, anything else as `1500 ms`.
fn seconds(ms: u64) -> String {
    if ms >= 1_000 && ms.is_multiple_of(1_000) {
        format!("{} s", ms.div_euclid(1_000))
    } else {
        format!("{ms} ms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::outcome::Status;

    #[test]
    fn the_definition_has_the_numbers_and_words_of_the_code() {
        let guide = Guide { budget_ms: 5, ..Guide::default() };
        let definition = definition(&guide);
        assert_eq!(definition["name"], NAME);
        let properties = &definition["inputSchema"]["properties"];
        assert_eq!(properties["budgetMs"]["maximum"], 5);
        assert_eq!(properties["label"]["maxLength"], LABEL_CHARS);
        assert_eq!(properties["idempotencyKey"]["maxLength"], KEY_CHARS);
        for name in ARGUMENTS {
            assert!(properties.get(name).is_some(), "{name}");
        }
        let words: Vec<_> = Status::ALL.iter().map(|status| status.as_str()).collect();
        let status = &definition["outputSchema"]["properties"]["status"]["enum"];
        assert_eq!(*status, serde_json::json!(words));
        assert!(definition["description"].as_str().is_some_and(|text| text.contains("5 ms")));
    }
}
