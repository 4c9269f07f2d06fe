//! Policies: which calls are made, which wait for a person, which are not made. Pure.
//!
//! Rules of the deployment hold for everybody, rules of a principal for its own runs. Of all that
//! match, the most restrictive wins; so a principal can tighten what holds for all and never
//! weaken it. Within one list that is so, too: a rule cannot open what another closes. Where no
//! rule matches, what the tool declares of itself decides.

use crate::error::{Code, Fault};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Rules of one list at most.
pub const MAX_RULES: usize = 200;

/// Conditions of one rule at most.
const MAX_CONDITIONS: usize = 20;

/// Bytes of a pattern, a pointer, or a text to match, at most.
const MAX_TEXT_BYTES: usize = 512;

/// What happens to a call. The order is the order of restriction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is made.
    Allow,
    /// A person is asked.
    Ask,
    /// It is not made.
    Block,
}

/// For whom a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For everybody.
    All,
    /// For one principal.
    Own,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Which tools: an exact name, or one with `*` for a whole part. A last `*` stands for one part
    /// or more: `mail.*` is `mail.send` and `mail.drafts.send`.
    pub pattern: String,
    /// All of them must hold; without any the pattern decides alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Condition>,
    /// What happens.
    pub action: Action,
    /// Why, for whoever meets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How long a person has to decide, for `ask`; a day without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
}

/// A day.
pub const WINDOW_MS: u64 = 86_400_000;

/// The longest window: thirty days.
pub const MAX_WINDOW_MS: u64 = 2_592_000_000;

/// A condition on an argument: exactly one test beside `at`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Condition {
    /// Where in the argument: a JSON pointer, `/to`, `/items/0/price`; empty for the whole.
    pub at: String,
    /// It is this value.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub equals: Option<Value>,
    /// It is none of these.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub not_equals: Option<Value>,
    /// It is one of these.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "in")]
    pub one_of: Option<Vec<Value>>,
    /// It is none of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_in: Option<Vec<Value>>,
    /// It is a text of this form; `*` stands for any run of characters, also none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// It is a text not of this form, or no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_matches: Option<String>,
    /// It is a number above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greater: Option<f64>,
    /// It is a number below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub less: Option<f64>,
    /// It is there, whatever it is (`true`), or is not there (`false`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<bool>,
    /// It is not there (`true`), or is (`false`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<bool>,
}

/// Takes what is there, `null` included, where an `Option` would take it for absent.
fn present<'de, D>(value: D) -> Result<Option<Value>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    Value::deserialize(value).map(Some)
}

/// What a tool says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Declared {
    /// A call only reads.
    ReadOnly,
    /// Nothing: it may change something.
    Unknown,
    /// A call may destroy something.
    Destructive,
}

/// What decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// What happens.
    pub action: Action,
    /// The rule, or the default.
    pub rule: Decider,
    /// How long a person has.
    pub window_ms: u64,
}

/// Which rule made a decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum Decider {
    /// A rule that holds for all: its place in the list, from 0, and itself.
    All {
        /// Its place.
        index: usize,
        /// The rule.
        rule: Rule,
    },
    /// A rule of the principal's.
    Own {
        /// Its place.
        index: usize,
        /// The rule.
        rule: Rule,
    },
    /// No rule matched: what the tool declares.
    Default {
        /// That.
        declares: Declared,
    },
}

/// The rules that hold for one principal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    /// For everybody.
    pub all: Vec<Rule>,
    /// For this principal.
    pub own: Vec<Rule>,
}

impl Policy {
    /// Decides about a call. `arguments` is plain JSON.
    #[must_use]
    pub fn decide(&self, path: &str, arguments: &Value, declares: Declared) -> Decision {
        let lists = [(Scope::All, &self.all), (Scope::Own, &self.own)];
        let matching = lists.into_iter().flat_map(|(scope, rules)| {
            rules.iter().enumerate().map(move |(index, rule)| (scope, index, rule))
        });
        let mut found: Option<(Scope, usize, &Rule)> = None;
        for (scope, index, rule) in matching {
            let stricter = found.is_none_or(|(_, _, known)| rule.action > known.action);
            if stricter && rule.matches(path, arguments) {
                found = Some((scope, index, rule));
            }
        }
        match found {
            Some((scope, index, rule)) => Decision {
                action: rule.action,
                window_ms: rule.window_ms.unwrap_or(WINDOW_MS),
                rule: match scope {
                    Scope::All => Decider::All { index, rule: rule.clone() },
                    Scope::Own => Decider::Own { index, rule: rule.clone() },
                },
            },
            None => Decision {
                action: match declares {
                    Declared::ReadOnly | Declared::Unknown => Action::Allow,
                    Declared::Destructive => Action::Ask,
                },
                window_ms: WINDOW_MS,
                rule: Decider::Default { declares },
            },
        }
    }

    /// Whether what happens to a call of the tool depends on its arguments.
    #[must_use]
    pub fn weighs(&self, path: &str) -> bool {
        let weighs = |rule: &Rule| !rule.when.is_empty() && fits(&rule.pattern, path);
        self.all.iter().chain(&self.own).any(weighs)
    }

    /// What the rules say of a tool before its arguments are known: the least that happens to a call,
    /// and the most.
    #[must_use]
    pub fn outlook(&self, path: &str, declares: Declared) -> (Action, Action) {
        let mut least: Option<Action> = None;
        let mut most: Option<Action> = None;
        for rule in self.all.iter().chain(&self.own).filter(|rule| fits(&rule.pattern, path)) {
            if rule.when.is_empty() {
                least = least.max(Some(rule.action));
            }
            most = most.max(Some(rule.action));
        }
        let usual = match declares {
            Declared::ReadOnly | Declared::Unknown => Action::Allow,
            Declared::Destructive => Action::Ask,
        };
        // Where every rule has conditions, none of them may hold.
        let least = least.unwrap_or(usual);
        (least, most.unwrap_or(usual).max(least))
    }

    /// Whether no argument could ever have a call of this tool made: it need not be shown.
    #[must_use]
    pub fn hides(&self, path: &str) -> bool {
        let hides = |rule: &Rule| {
            rule.action == Action::Block && rule.when.is_empty() && fits(&rule.pattern, path)
        };
        self.all.iter().chain(&self.own).any(hides)
    }
}

impl Decision {
    /// The fault of a blocked call.
    #[must_use]
    pub fn blocked(&self, path: &str) -> Fault {
        let (name, note) = match &self.rule {
            Decider::All { index, rule } => (format!("all/{index}"), rule.note.as_deref()),
            Decider::Own { index, rule } => (format!("own/{index}"), rule.note.as_deref()),
            Decider::Default { .. } => ("default".to_owned(), None),
        };
        let because = note.map(|note| format!(" ({note})")).unwrap_or_default();
        let message = format!("{path} is blocked by the rule {name}{because}.");
        let rule = serde_json::to_value(&self.rule).unwrap_or_default();
        Fault::new(Code::PolicyBlocked, message).with("tool", path).with("rule", rule)
    }
}

impl Rule {
    /// Whether it is about this call.
    #[must_use]
    pub fn matches(&self, path: &str, arguments: &Value) -> bool {
        fits(&self.pattern, path) && self.when.iter().all(|condition| condition.holds(arguments))
    }

    fn check(&self, index: usize) -> Result<(), Fault> {
        let wrong = |what: String| Err(Fault::invalid(&format!("rules[{index}]"), what));
        let part = |part: &str| {
            part == "*"
                || !part.is_empty()
                    && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
        };
        if self.pattern.len() > MAX_TEXT_BYTES || !self.pattern.split('.').all(part) {
            return wrong(
                "pattern must be a tool's name such as mail.send, with * for a whole part"
                    .to_owned(),
            );
        }
        if self.when.len() > MAX_CONDITIONS {
            return wrong(format!("when may have {MAX_CONDITIONS} conditions at most"));
        }
        if self.note.as_deref().is_some_and(|note| note.len() > MAX_TEXT_BYTES) {
            return wrong(format!("note may have {MAX_TEXT_BYTES} bytes at most"));
        }
        if self.window_ms.is_some() && self.action != Action::Ask {
            return wrong("windowMs is for the action ask".to_owned());
        }
        if self.window_ms.is_some_and(|ms| !(1..=MAX_WINDOW_MS).contains(&ms)) {
            return wrong(format!("windowMs must be from 1 to {MAX_WINDOW_MS}"));
        }
        for condition in &self.when {
            if let Err(what) = condition.check() {
                return wrong(format!("when: {what}"));
            }
        }
        Ok(())
    }
}

/// Checks a list before it is stored.
///
/// # Errors
///
/// `invalid_request`, naming the rule by its place.
pub fn check(rules: &[Rule]) -> Result<(), Fault> {
    if rules.len() > MAX_RULES {
        return Err(Fault::invalid("rules", format!("must be at most {MAX_RULES}")));
    }
    rules.iter().enumerate().try_for_each(|(index, rule)| rule.check(index))
}

impl Condition {
    fn check(&self) -> Result<(), String> {
        if !self.at.is_empty() && !self.at.starts_with('/') || self.at.len() > MAX_TEXT_BYTES {
            return Err("at must be a JSON pointer such as /to, or empty".to_owned());
        }
        let tests = [
            self.equals.is_some(),
            self.not_equals.is_some(),
            self.one_of.is_some(),
            self.not_in.is_some(),
            self.matches.is_some(),
            self.not_matches.is_some(),
            self.greater.is_some(),
            self.less.is_some(),
            self.present.is_some(),
            self.absent.is_some(),
        ];
        if tests.iter().filter(|given| **given).count() != 1 {
            return Err(
                "each condition has exactly one of equals, notEquals, in, notIn, matches, \
                        notMatches, greater, less, present, absent"
                    .to_owned(),
            );
        }
        let forms = [&self.matches, &self.not_matches];
        if forms.into_iter().flatten().any(|form| form.len() > MAX_TEXT_BYTES) {
            return Err(format!("a text to match may have {MAX_TEXT_BYTES} bytes at most"));
        }
        Ok(())
    }

    fn holds(&self, arguments: &Value) -> bool {
        let found = arguments.pointer(&self.at);
        let is = |value: &Value| found.is_some_and(|found| same(found, value));
        let number = found.and_then(Value::as_f64);
        let fits = |form: &str| found.and_then(Value::as_str).is_some_and(|text| like(form, text));
        if let Some(value) = &self.equals {
            return is(value);
        }
        if let Some(value) = &self.not_equals {
            return !is(value);
        }
        if let Some(values) = &self.one_of {
            return values.iter().any(is);
        }
        if let Some(values) = &self.not_in {
            return !values.iter().any(is);
        }
        if let Some(form) = &self.matches {
            return fits(form);
        }
        if let Some(form) = &self.not_matches {
            return !fits(form);
        }
        if let Some(limit) = self.greater {
            return number.is_some_and(|number| number > limit);
        }
        if let Some(limit) = self.less {
            return number.is_some_and(|number| number < limit);
        }
        if let Some(present) = self.present {
            return found.is_some() == present;
        }
        self.absent == Some(found.is_none())
    }
}

/// Equal as JSON: `1` and `1.0` are one number.
fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        #[expect(clippy::float_cmp, reason = "two numbers as they were written")]
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

/// Whether a pattern names a tool.
pub(super) fn fits(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('.');
    let mut wanted = pattern.split('.').peekable();
    while let Some(want) = wanted.next() {
        let Some(part) = parts.next() else { return false };
        if want == "*" {
            if wanted.peek().is_none() {
                return true;
            }
        } else if want != part {
            return false;
        }
    }
    parts.next().is_none()
}

/// Whether a text has a form in which `*` stands for any run of characters. It takes no longer than
/// both lengths multiplied.
fn like(form: &str, text: &str) -> bool {
    let pieces: Vec<&str> = form.split('*').collect();
    let [first, .., last] = pieces.as_slice() else { return form == text };
    let Some(rest) = text.strip_prefix(first) else { return false };
    let Some(mut rest) = rest.strip_suffix(last) else { return false };
    let between = pieces.len().saturating_sub(2);
    for piece in pieces.iter().skip(1).take(between) {
        let Some((_, after)) = rest.split_once(piece) else { return false };
        rest = after;
    }
    true
}

/// Names of fields whose values nobody is shown.
const SECRET: &[&str] =
    &["password", "passwd", "secret", "token", "authorization", "apikey", "cookie", "credential"];

/// An argument as a person is shown it: secrets are taken out by the names of their fields.
#[must_use]
pub fn redacted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let plain: String = name
                    .chars()
                    .filter(char::is_ascii_alphanumeric)
                    .map(|c| c.to_ascii_lowercase())
                    .collect();
                let secret = SECRET.iter().any(|word| plain.contains(word));
                let shown = if secret { json!("[redacted]") } else { redacted(value) };
                (name.clone(), shown)
            })
            .collect(),
        Value::Array(items) => items.iter().map(redacted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    //! The most restrictive rule that matches decides.

    use super::*;

    fn rules(text: Value) -> Vec<Rule> {
        let rules: Vec<Rule> = serde_json::from_value(text).unwrap();
        check(&rules).unwrap();
        rules
    }

    #[test]
    fn a_pattern_names_whole_parts() {
        for (pattern, path, expected) in [
            ("mail.send", "mail.send", true),
            ("mail.send", "mail.sender", false),
            ("mail.*", "mail.send", true),
            ("mail.*", "mail.drafts.send", true),
            ("mail.*", "mail", false),
            ("mail.*", "mailer.send", false),
            ("*.send", "mail.send", true),
            ("*.send", "mail.drafts.send", false),
            ("mail.*.send", "mail.drafts.send", true),
            ("*", "mail.send", true),
        ] {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_principals_rule_cannot_weaken_one_for_all() {
        let all = rules(json!([{ "pattern": "mail.*", "action": "ask" }]));
        let own = rules(json!([{ "pattern": "mail.send", "action": "allow" }]));
        let decide = |policy: &Policy| policy.decide("mail.send", &json!({}), Declared::ReadOnly);
        let decision = decide(&Policy { all: all.clone(), own });
        assert_eq!(decision.action, Action::Ask);
        assert!(matches!(decision.rule, Decider::All { index: 0, .. }));
        let own = rules(json!([{ "pattern": "*", "action": "block", "note": "not today" }]));
        let decision = decide(&Policy { all, own });
        assert_eq!(decision.action, Action::Block);
        let fault = decision.blocked("mail.send");
        assert_eq!(fault.message, "mail.send is blocked by the rule own/0 (not today).");
    }

    #[test]
    fn without_a_rule_what_the_tool_declares_decides() {
        let decide = |declares| Policy::default().decide("a.b", &json!({}), declares).action;
        assert_eq!(decide(Declared::ReadOnly), Action::Allow);
        assert_eq!(decide(Declared::Unknown), Action::Allow);
        assert_eq!(decide(Declared::Destructive), Action::Ask);
        let own = rules(json!([{ "pattern": "a.b", "action": "allow" }]));
        let policy = Policy { own, ..Policy::default() };
        assert_eq!(policy.decide("a.b", &json!({}), Declared::Destructive).action, Action::Allow);
    }

    #[test]
    fn an_argument_matters_only_where_a_rule_looks_at_it() {
        let own = rules(json!([
            { "pattern": "a.b", "action": "ask" },
            { "pattern": "a.c", "action": "block", "when": [{ "at": "/to", "present": true }] },
        ]));
        let all = rules(json!([
            { "pattern": "d.*", "action": "ask", "when": [{ "at": "", "equals": null }] },
        ]));
        let policy = Policy { all, own };
        let weighed = ["a.a", "a.b", "a.c", "d.e", "d"].map(|path| policy.weighs(path));
        assert_eq!(weighed, [false, false, true, true, false]);
        let decide = |arguments| policy.decide("a.b", &arguments, Declared::Unknown);
        assert_eq!(decide(json!({ "to": 1 })), decide(Value::Null));
    }

    #[test]
    fn the_outlook_says_what_can_happen() {
        let when = json!([{ "at": "/to", "equals": 1 }]);
        let outlook = |list: Value, declares| {
            Policy { own: rules(list), ..Policy::default() }.outlook("a.b", declares)
        };
        let (allow, ask, block) = (Action::Allow, Action::Ask, Action::Block);
        for (list, declares, expected) in [
            (json!([]), Declared::Unknown, (allow, allow)),
            (json!([]), Declared::Destructive, (ask, ask)),
            (
                json!([{ "pattern": "a.b", "action": "allow" }]),
                Declared::Destructive,
                (allow, allow),
            ),
            (json!([{ "pattern": "a.*", "action": "ask" }]), Declared::ReadOnly, (ask, ask)),
            (
                json!([{ "pattern": "a.*", "action": "ask", "when": when }]),
                Declared::ReadOnly,
                (allow, ask),
            ),
            (
                json!([
                    { "pattern": "a.b", "action": "ask" },
                    { "pattern": "*", "action": "block", "when": when },
                ]),
                Declared::ReadOnly,
                (ask, block),
            ),
            (json!([{ "pattern": "c", "action": "block" }]), Declared::ReadOnly, (allow, allow)),
        ] {
            assert_eq!(outlook(list.clone(), declares), expected, "{list}");
        }
    }

    #[test]
    fn what_is_blocked_whatever_the_arguments_is_hidden() {
        let hides =
            |list: Value, path: &str| Policy { own: rules(list), ..Policy::default() }.hides(path);
        let when = json!([{ "at": "/to", "equals": 1 }]);
        for (list, path, expected) in [
            (json!([{ "pattern": "a.b", "action": "block" }]), "a.b", true),
            (json!([{ "pattern": "a.b", "action": "block" }]), "a.c", false),
            (json!([{ "pattern": "a.b", "action": "ask" }]), "a.b", false),
            (json!([{ "pattern": "a.b", "action": "block", "when": when }]), "a.b", false),
            (json!([{ "pattern": "a.*", "action": "block" }]), "a.*", true),
            (json!([{ "pattern": "*", "action": "block" }]), "a.*", true),
            (json!([{ "pattern": "a.b", "action": "block" }]), "a.*", false),
        ] {
            assert_eq!(hides(list.clone(), path), expected, "{list} {path}");
        }
    }

    #[test]
    fn conditions_look_at_the_argument() {
        let arguments = json!({ "to": "a@example.com", "n": 5, "list": [{ "x": null }] });
        for (condition, expected) in [
            (json!({ "at": "/to", "equals": "a@example.com" }), true),
            (json!({ "at": "/to", "notEquals": "a@example.com" }), false),
            (json!({ "at": "/gone", "notEquals": 1 }), true),
            (json!({ "at": "/n", "equals": 5.0 }), true),
            (json!({ "at": "/n", "in": [4, 5] }), true),
            (json!({ "at": "/n", "notIn": [4, 5] }), false),
            (json!({ "at": "/to", "matches": "*@example.com" }), true),
            (json!({ "at": "/to", "matches": "*@example.org" }), false),
            (json!({ "at": "/to", "notMatches": "*@example.com" }), false),
            (json!({ "at": "/n", "notMatches": "*" }), true),
            (json!({ "at": "/n", "greater": 4 }), true),
            (json!({ "at": "/n", "greater": 5 }), false),
            (json!({ "at": "/n", "less": 5.5 }), true),
            (json!({ "at": "/to", "less": 5 }), false),
            (json!({ "at": "/list/0/x", "present": true }), true),
            (json!({ "at": "/list/0/x", "equals": null }), true),
            (json!({ "at": "/list/1", "absent": true }), true),
            (json!({ "at": "/list/0", "absent": true }), false),
            (json!({ "at": "", "present": true }), true),
        ] {
            let rule = &rules(json!([{ "pattern": "*", "when": [condition], "action": "ask" }]))[0];
            assert_eq!(rule.matches("a", &arguments), expected, "{:?}", rule.when);
        }
    }

    #[test]
    fn a_form_is_matched_whole() {
        for (form, text, expected) in [
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("*", "", true),
            ("", "a", false),
            ("a", "a", true),
        ] {
            assert_eq!(like(form, text), expected, "{form} {text}");
        }
    }

    #[test]
    fn a_wrong_rule_is_refused_by_its_place() {
        for rule in [
            json!({ "pattern": "mail..send", "action": "ask" }),
            json!({ "pattern": "mail.s*", "action": "ask" }),
            json!({ "pattern": "a", "action": "ask", "when": [{ "at": "to", "equals": 1 }] }),
            json!({ "pattern": "a", "action": "ask", "when": [{ "at": "/to" }] }),
            json!({ "pattern": "a", "action": "ask", "windowMs": 0 }),
            json!({ "pattern": "a", "action": "allow", "windowMs": 5 }),
        ] {
            let good = json!({ "pattern": "a", "action": "ask" });
            let list: Vec<Rule> = serde_json::from_value(json!([good, rule])).unwrap();
            assert!(check(&list).unwrap_err().message.starts_with("rules[1]"), "{rule}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = redacted(&json!({ "apiKey": "x", "to": "a", "in": [{ "Set-Cookie": 1 }] }));
        let expected =
            json!({ "apiKey": "[redacted]", "to": "a", "in": [{ "Set-Cookie": "[redacted]" }] });
        assert_eq!(shown, expected);
    }
}
