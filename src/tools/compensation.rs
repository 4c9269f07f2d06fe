//! Compensations: by which call what a tool did is undone. Pure.
//!
//! A declaration is data: which tools it is about, which tool undoes what they did, and how the
//! arguments of that call are made from those of the first and from its result. So a principal or the
//! deployment can declare one for any tool, those of a service binding too, and a source's settings
//! for the tools of that source. Of the declarations that match, the principal's own come first, then
//! those of its sources, then those for all; the first of a list counts.

use super::names;
use super::policy::{self, fits};
use crate::error::{Code, Fault};
use crate::run::journal::{Call, Journal};
use crate::run::value;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Declarations of one list at most.
pub const MAX_DECLARATIONS: usize = 200;

/// Bytes of one list at most, as JSON.
const MAX_BYTES: usize = 262_144;

/// The list in a source's settings.
const FIELD: &str = "compensations";

/// Bytes of a pattern, a name or a note at most.
const MAX_TEXT_BYTES: usize = 512;

/// How deep a template may be: arguments are flat or nearly so.
const MAX_DEPTH: usize = 16;

/// A declaration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Declaration {
    /// Which tools: as a policy's pattern.
    pub pattern: String,
    /// The tool that undoes what they did.
    pub by: String,
    /// Its argument: JSON in which `{"from": "/arguments/key"}` stands for what is there in
    /// `{arguments, result}`, and `{"value": …}` for itself; an empty object without.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The declarations that hold for one principal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Declarations {
    /// The principal's.
    pub own: Vec<Declaration>,
    /// Of its sources' settings, each about the tools of its source.
    pub sources: Vec<Declaration>,
    /// For everybody.
    pub all: Vec<Declaration>,
}

/// What can be done about one effect of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Undo {
    /// A call undoes it.
    By(Step),
    /// Nobody knows whether it happened: it is left to people.
    Unknown {
        /// The call.
        n: u32,
        /// The tool.
        tool: String,
    },
    /// A declaration does not fit what the call was.
    Unfit {
        /// The call.
        n: u32,
        /// The tool.
        tool: String,
        /// Why.
        what: String,
    },
}

/// One call that undoes another.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The call that is undone.
    pub n: u32,
    /// Its tool.
    pub tool: String,
    /// The tool that undoes it.
    pub by: String,
    /// With this.
    pub arguments: Value,
}

impl Declaration {
    fn check(&self, field: &str) -> Result<(), Fault> {
        let wrong = |what: &str| Err(Fault::invalid(field, what));
        let name = |text: &str, wild: bool| {
            let part = |part: &str| {
                wild && part == "*"
                    || !part.is_empty()
                        && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
            };
            text.len() <= MAX_TEXT_BYTES && text.split('.').all(part)
        };
        if !name(&self.pattern, true) {
            return wrong(
                "pattern must be a tool's name such as mail.send, with * for a whole part",
            );
        }
        if !name(&self.by, false) {
            return wrong("by must be a tool's name such as mail.recall");
        }
        if self.note.as_deref().is_some_and(|note| note.len() > MAX_TEXT_BYTES) {
            return wrong("note may have 512 bytes at most");
        }
        if let Err(what) =
            self.arguments.values().try_for_each(|template| check_template(template, 0))
        {
            return wrong(&format!("arguments: {what}"));
        }
        Ok(())
    }
}

/// Checks a list, which is the field `field`, before it is stored; it as JSON.
///
/// # Errors
///
/// `invalid_request`, naming the declaration by its place.
pub fn check(field: &str, list: &[Declaration]) -> Result<String, Fault> {
    if list.len() > MAX_DECLARATIONS {
        return Err(Fault::invalid(field, format!("must be at most {MAX_DECLARATIONS}")));
    }
    let mut numbered = list.iter().enumerate();
    numbered.try_for_each(|(index, one)| one.check(&format!("{field}[{index}]")))?;
    let text = serde_json::to_string(list).map_err(|error| Fault::invalid(field, error))?;
    if text.len() > MAX_BYTES {
        return Err(Fault::invalid(field, format!("may have {MAX_BYTES} bytes at most")));
    }
    Ok(text)
}

/// Checks the list of a source's settings: it is about the source's own tools and undoes by them.
/// `tools`: the paths that it has, once they are known.
///
/// # Errors
///
/// As [`check`].
pub fn check_of_source(
    source: &str,
    list: &[Declaration],
    tools: Option<&[String]>,
) -> Result<(), Fault> {
    check(FIELD, list)?;
    let is_ours = |path: &str| path.split('.').next() == Some(source);
    for (index, one) in list.iter().enumerate() {
        let wrong = |part: &str, what: String| {
            Err(Fault::invalid(&format!("{FIELD}[{index}].{part}"), what))
        };
        for (part, path) in [("pattern", &one.pattern), ("by", &one.by)] {
            if !is_ours(path) {
                let what = format!("must begin with {source}.; PUT /v1/compensations takes others");
                return wrong(part, what);
            }
        }
        let Some(tools) = tools else { continue };
        for (part, path) in [("pattern", &one.pattern), ("by", &one.by)] {
            if !tools.iter().any(|tool| fits(path, tool)) {
                let near = names::nearest(path, tools.iter().map(String::as_str), 3);
                let what = match near.as_slice() {
                    [] => format!("names no tool of {source}"),
                    near => format!("names no tool of {source}; near names: {}", near.join(", ")),
                };
                return wrong(part, what);
            }
        }
    }
    Ok(())
}

/// The only member of an object, if it has that name.
fn only<'a>(template: &'a Value, name: &str) -> Option<&'a Value> {
    let members = template.as_object().filter(|members| members.len() == 1)?;
    members.get(name)
}

fn check_template(template: &Value, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("is more than {MAX_DEPTH} levels deep"));
    }
    if only(template, "value").is_some() {
        return Ok(());
    }
    if let Some(from) = only(template, "from") {
        let known = |text: &str| {
            ["/arguments", "/result"].iter().any(|root| {
                text.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        return if from.as_str().is_some_and(known) {
            Ok(())
        } else {
            Err("from must be a JSON pointer below /arguments or /result".to_owned())
        };
    }
    match template {
        Value::Object(members) => {
            members.values().try_for_each(|member| check_template(member, depth.saturating_add(1)))
        }
        Value::Array(items) => {
            items.iter().try_for_each(|item| check_template(item, depth.saturating_add(1)))
        }
        _ => Ok(()),
    }
}

fn filled(template: &Value, with: &Value) -> Result<Value, String> {
    if let Some(value) = only(template, "value") {
        return Ok(value.clone());
    }
    if let Some(from) = only(template, "from").and_then(Value::as_str) {
        return with.pointer(from).cloned().ok_or_else(|| format!("there is nothing at {from}"));
    }
    Ok(match template {
        Value::Object(members) => {
            let filled = members
                .iter()
                .map(|(name, member)| filled(member, with).map(|member| (name.clone(), member)));
            Value::Object(filled.collect::<Result<_, _>>()?)
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| filled(item, with)).collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    })
}

impl Declarations {
    /// The declaration about a tool.
    #[must_use]
    pub fn about(&self, path: &str) -> Option<&Declaration> {
        let lists = self.own.iter().chain(&self.sources).chain(&self.all);
        lists.into_iter().find(|one| fits(&one.pattern, path))
    }

    /// What can be done about what a run did, the last effect first. What did not happen is not in it:
    /// calls that failed, were refused, or were never made.
    #[must_use]
    pub fn plan(&self, journal: &Journal) -> Vec<Undo> {
        let calls = (0_u32..).zip(journal.calls());
        let mut plan: Vec<Undo> = calls.filter_map(|(n, call)| self.undo(n, call)).collect();
        plan.reverse();
        plan
    }

    fn undo(&self, n: u32, call: &Call) -> Option<Undo> {
        // What only reads is never started: there is nothing to undo.
        if call.is_step() || !call.is_started() {
            return None;
        }
        let declared = self.about(&call.path)?;
        let tool = call.path.clone();
        let fault = match &call.reply {
            None => return Some(Undo::Unknown { n, tool }),
            Some(reply) => reply.fault.as_ref(),
        };
        match fault.map(|fault| fault.code) {
            Some(Code::EffectUnknown) => return Some(Undo::Unknown { n, tool }),
            Some(_) => return None,
            None => {}
        }
        Some(match made(declared, call) {
            Ok(arguments) => Undo::By(Step { n, tool, by: declared.by.clone(), arguments }),
            Err(what) => Undo::Unfit { n, tool, what },
        })
    }
}

/// The argument of the call that undoes `call`, in plain JSON.
fn made(declared: &Declaration, call: &Call) -> Result<Value, String> {
    let plain = |tagged: &str| -> Result<Value, String> {
        let (text, _) = value::plain(tagged).map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    let replied = call.reply.as_ref().map_or("null", |reply| &*reply.text);
    let reply: Answered<'_> = serde_json::from_str(replied).map_err(|error| error.to_string())?;
    let result = reply.value.map_or(Ok(Value::Null), |value| plain(value.get()))?;
    let with = json!({ "arguments": plain(&call.args)?, "result": result });
    filled(&Value::Object(declared.arguments.clone()), &with)
}

#[derive(Deserialize)]
struct Answered<'a> {
    #[serde(default, borrow)]
    value: Option<&'a serde_json::value::RawValue>,
}

impl Undo {
    /// As people and programs are shown it.
    #[must_use]
    pub fn view(&self) -> Value {
        match self {
            Self::By(step) => json!({
                "n": step.n, "tool": step.tool, "by": step.by,
                "arguments": policy::redacted(&step.arguments), "state": "offered",
            }),
            Self::Unknown { n, tool } => json!({ "n": n, "tool": tool, "state": "unknown" }),
            Self::Unfit { n, tool, what } => {
                json!({ "n": n, "tool": tool, "state": "unfit", "why": what })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! What happened is undone, the last first; what did not happen is not, and what nobody knows of is
    //! said.

    use super::*;
    use crate::run::journal::{Nature, Put, Record, Reply, Ruling};

    fn declared(list: &str) -> Declarations {
        let own: Vec<Declaration> = serde_json::from_str(list).unwrap();
        check("list", &own).unwrap();
        Declarations { own, ..Declarations::default() }
    }

    /// Tool, argument, and the answer; `None`: it was lost.
    type Called<'a> = (&'a str, &'a str, Option<Result<&'a str, Code>>);

    /// A journal of these calls.
    fn journal(calls: &[Called<'_>]) -> Journal {
        let mut record = Record::default();
        for (n, (path, args, reply)) in (0_u32..).zip(calls) {
            record.issue(n, (*path, *args), "h", 0, false).unwrap();
            let nature = Nature { reads: false, repeatable: false };
            record.next(n, nature, Put::Never, || Ruling::Allow).unwrap();
            let reply = match reply {
                None => continue,
                Some(Ok(value)) => {
                    Reply { text: format!("{{\"value\":{value}}}").into(), fault: None }
                }
                Some(Err(code)) => {
                    Reply { text: "{}".into(), fault: Some(Fault::new(*code, "no")) }
                }
            };
            record.replied(n, reply).unwrap();
        }
        record.journal().clone()
    }

    const LIST: &str = r#"[
        {"pattern":"mail.send","by":"mail.recall","arguments":{"id":{"from":"/result/id"}}},
        {"pattern":"storage.set","by":"storage.delete","arguments":{"key":{"from":"/arguments/key"}}},
        {"pattern":"crm.*","by":"crm.revert","arguments":
          {"ids":[{"from":"/result"}],"why":"rollback","as":{"value":{"from":"itself"}}}}
    ]"#;

    #[test]
    fn effects_are_undone_in_reverse() {
        let journal = journal(&[
            ("storage.set", r#"{"key":"a","value":1}"#, Some(Ok("{}"))),
            ("storage.get", r#"{"key":"a"}"#, Some(Ok(r#"{"value":1}"#))),
            ("mail.send", r#"{"to":"b"}"#, Some(Ok(r#"{"id":7}"#))),
            ("crm.add", "{}", Some(Ok("9"))),
        ]);
        let plan = declared(LIST).plan(&journal);
        let steps: Vec<Step> = plan
            .into_iter()
            .map(|undo| match undo {
                Undo::By(step) => step,
                other => panic!("{other:?}"),
            })
            .collect();
        let told: Vec<(u32, &str, Value)> =
            steps.iter().map(|step| (step.n, step.by.as_str(), step.arguments.clone())).collect();
        assert_eq!(
            told,
            [
                (3, "crm.revert", json!({"ids":[9],"why":"rollback","as":{"from":"itself"}})),
                (2, "mail.recall", json!({"id":7})),
                (0, "storage.delete", json!({"key":"a"})),
            ]
        );
    }

    #[test]
    fn what_did_not_happen_is_not_undone() {
        let journal = journal(&[
            ("mail.send", "{}", Some(Err(Code::ToolFailed))),
            ("mail.send", "{}", Some(Err(Code::ApprovalDeclined))),
            ("mail.send", "{}", Some(Err(Code::PolicyBlocked))),
        ]);
        assert_eq!(declared(LIST).plan(&journal), []);
    }

    #[test]
    fn what_nobody_knows_of_and_what_does_not_fit_is_said() {
        let journal = journal(&[
            ("mail.send", "{}", None),
            ("mail.send", "{}", Some(Err(Code::EffectUnknown))),
            ("mail.send", "{}", Some(Ok("null"))),
        ]);
        let tool = || "mail.send".to_owned();
        let what = "there is nothing at /result/id".to_owned();
        assert_eq!(
            declared(LIST).plan(&journal),
            [
                Undo::Unfit { n: 2, tool: tool(), what },
                Undo::Unknown { n: 1, tool: tool() },
                Undo::Unknown { n: 0, tool: tool() },
            ]
        );
    }

    #[test]
    fn the_principals_own_declaration_comes_first() {
        let own = declared(r#"[{"pattern":"a.*","by":"a.own"}]"#).own;
        let sources =
            declared(r#"[{"pattern":"a.b","by":"a.s"},{"pattern":"s.b","by":"s.c"}]"#).own;
        let all = r#"[{"pattern":"a.b","by":"a.all"},{"pattern":"s.*","by":"s.all"},
            {"pattern":"c","by":"c.all"}]"#;
        let lists = Declarations { own, sources, all: declared(all).own };
        let by = |path: &str| lists.about(path).map(|one| one.by.as_str());
        assert_eq!([by("a.b"), by("s.b"), by("s.d")], [Some("a.own"), Some("s.c"), Some("s.all")]);
        assert_eq!([by("c"), by("d")], [Some("c.all"), None]);
    }

    #[test]
    fn a_source_declares_for_its_own_tools_and_by_them() {
        let tools = ["gh.issues.create", "gh.issues.close"].map(str::to_owned);
        let part = |list: &str, tools| {
            let list: Vec<Declaration> = serde_json::from_str(list).unwrap();
            check_of_source("gh", &list, tools).err().map(|fault| fault.message)
        };
        let fit = r#"[{"pattern":"gh.issues.create","by":"gh.issues.close"}]"#;
        assert_eq!([part(fit, None), part(fit, Some(&tools))], [None, None]);
        for (list, tools, named) in [
            (r#"[{"pattern":"ghx.issues","by":"gh.issues.close"}]"#, None, "[0].pattern"),
            (r#"[{"pattern":"*.issues.create","by":"gh.a"}]"#, None, "[0].pattern"),
            (r#"[{"pattern":"gh.*","by":"storage.delete"}]"#, None, "[0].by"),
            (r#"[{"pattern":"gh.*","by":"gh.issues.clsoe"}]"#, Some(&tools[..]), "gh.issues.close"),
            (
                r#"[{"pattern":"gh.x","by":"gh.issues.close"}]"#,
                Some(&tools[..]),
                "names no tool of gh",
            ),
            (r#"[{"pattern":"gh.","by":"gh.a"}]"#, None, "compensations[0]"),
        ] {
            let message = part(list, tools).unwrap_or_default();
            assert!(message.contains(named), "{list}: {message}");
        }
    }

    #[test]
    fn a_wrong_declaration_is_named() {
        for (one, part) in [
            (r#"{"pattern":"","by":"a"}"#, "pattern"),
            (r#"{"pattern":"a b","by":"a"}"#, "pattern"),
            (r#"{"pattern":"a","by":"a.*"}"#, "by"),
            (r#"{"pattern":"a","by":""}"#, "by"),
            (r#"{"pattern":"a","by":"b","arguments":{"x":{"from":"key"}}}"#, "from"),
            (r#"{"pattern":"a","by":"b","arguments":{"x":{"from":"/argumentsX"}}}"#, "from"),
            (r#"{"pattern":"a","by":"b","arguments":{"x":[{"from":7}]}}"#, "from"),
        ] {
            let list: Vec<Declaration> = serde_json::from_str(&format!("[{one}]")).unwrap();
            let fault = check("list", &list).unwrap_err();
            assert!(fault.message.contains("list[0]") && fault.message.contains(part), "{one}");
        }
    }
}
