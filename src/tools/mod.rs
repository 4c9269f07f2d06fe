//! Tools: what a program may call. One file a source kind.
//!
//! Every tool takes one object and gives one value, both as tagged JSON. What a tool fails with
//! is a [`Fault`]; what the program sees of it is made in one place ([`reply_of`]).

pub mod alarm;
pub mod calls;
pub mod compensation;
pub mod connect;
pub mod cut;
pub mod egress;
pub mod emit;
pub mod exchange;
pub mod find;
pub mod gateway;
pub mod graphql;
pub mod http;
pub mod import;
pub mod names;
pub mod naming;
pub mod openapi;
pub mod policy;
pub mod ranking;
pub mod retry;
pub mod schema;
pub mod secret;
pub mod service;
pub mod source;
pub mod storage;
pub mod turns;
pub mod typescript;
pub mod vault;
pub mod yaml;

use crate::config::Config;
use crate::error::{Code, Fault};
use crate::packages::nested::{self, Nested};
use crate::platform::exports::{Teller, Told};
use crate::run::journal::Journal;
use crate::run::outcome::Question;
use crate::run::value;
use crate::store::db::Db;
use crate::tools::calls::Sources;
use crate::tools::policy::{Declared, Policy};
use crate::tools::source::Later;
use crate::workflows::program::{self, Maker};
use futures_util::FutureExt as _;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a tool call knows of its run.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Whose run it is.
    pub principal: String,
    /// The run.
    pub run_id: String,
    /// The caller's own name for the run.
    pub label: Option<String>,
    /// The most bytes of an answer.
    pub answer_bytes: u64,
    /// How long a call may take, in milliseconds.
    pub call_ms: u64,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Came {
    /// Its answer, tagged JSON.
    Back(String),
    /// The run that it invoked waits for people. Called again, it answers once that run has ended.
    Waits(Waiting),
}

/// A run that waits for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// The run.
    pub run_id: String,
    /// What it waits for.
    pub questions: Vec<Question>,
}

/// Every source of this deployment, and who calls.
#[derive(Debug)]
pub struct Tools {
    db: Rc<Db>,
    config: Rc<Config>,
    service: Option<service::Service>,
    nested: Option<Nested>,
    workflows: Option<Maker>,
    sources: Sources,
    policy: Rc<Policy>,
    caller: Caller,
    teller: Option<Teller>,
    emitted: emit::Emitted,
    /// Warnings of answers that were cut, by the numbers of their calls.
    cuts: RefCell<BTreeMap<u32, String>>,
}

/// The built-in tools: name, and whether a call only reads.
pub(crate) const BUILT_IN: &[(&str, bool)] = &[
    (find::DESCRIBE, true),
    ("emit", true),
    ("http.fetch", false),
    (find::SEARCH, true),
    ("service.alarm", false),
    ("storage.delete", false),
    ("storage.get", true),
    ("storage.list", true),
    ("storage.set", false),
];

impl Tools {
    /// The tools that `caller` may call.
    ///
    /// # Errors
    ///
    /// `configuration_invalid` when a source that is declared is not bound.
    pub fn new(
        env: &worker::Env,
        ctx: Rc<worker::Context>,
        db: Rc<Db>,
        config: Rc<Config>,
        caller: Caller,
    ) -> Result<Self, Fault> {
        let service = match &config.tools_service {
            Some(binding) => Some(service::Service::of(env, binding)?),
            None => None,
        };
        let sources = Sources::of(
            env.clone(),
            Rc::clone(&db),
            Rc::clone(&config),
            Later::of(ctx),
            &caller.principal,
        );
        let emitted = emit::Emitted::default();
        Ok(Self {
            db,
            config,
            service,
            nested: None,
            workflows: None,
            sources,
            policy: Rc::default(),
            caller,
            teller: None,
            emitted,
            cuts: RefCell::default(),
        })
    }

    /// The same, and packages can be invoked.
    #[must_use]
    pub fn with_packages(self, nested: Nested) -> Self {
        Self { nested: Some(nested), ..self }
    }

    /// The same, and what is heard of a call on its way is told.
    #[must_use]
    pub fn telling(self, teller: Option<Teller>) -> Self {
        Self { teller, ..self }
    }

    /// Does the work of a call, and tells what is put into `told` meanwhile.
    async fn told<T>(&self, told: &Told, work: impl Future<Output = T>) -> T {
        match &self.teller {
            Some(teller) => teller.during(told, work).await,
            None => work.await,
        }
    }

    /// The same, under a policy: what it blocks whatever the arguments is not named to the program.
    #[must_use]
    pub fn under(self, policy: Rc<Policy>) -> Self {
        Self { policy, ..self }
    }

    /// The names of the principal's sources are known already.
    pub fn know_sources(&self, names: Vec<String>) {
        self.sources.know(names);
    }

    /// The same, and workflows can be created.
    #[must_use]
    pub fn with_workflows(self, workflows: Maker) -> Self {
        Self { workflows: Some(workflows), ..self }
    }

    /// Whether a path has to be looked up before a call of it is decided about.
    #[must_use]
    pub fn is_to_prepare(&self, path: &str) -> bool {
        !is_built_in(path) && !Maker::has(path) && (path != nested::PATH || self.nested.is_none())
    }

    /// Looks a tool up and holds the arguments against what it takes. What only a service binding
    /// knows is found when it is called.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit, no such tool; the database.
    pub async fn prepare(&self, path: &str, arguments: &str) -> Result<(), Fault> {
        self.sources.prepare(path, arguments).await?;
        if self.service.is_none() && self.sources.known(path).is_none() {
            return Err(self.unknown(path).await?);
        }
        Ok(())
    }

    /// Refuses a call of a built-in tool that would not be made, before anybody is asked about it.
    ///
    /// # Errors
    ///
    /// Unfit arguments, a host that is not allowed.
    pub fn check(&self, path: &str, arguments: &str) -> Result<(), Fault> {
        match path {
            "http.fetch" => http::check(&self.config.http_hosts, arguments),
            nested::PATH if self.nested.is_some() => Nested::check(arguments),
            _ if path.starts_with("storage.") => storage::check(path, arguments),
            _ => Ok(()),
        }
    }

    /// Whether a call of `path` only reads, so that it need not be written down before it is made. Of a
    /// source's tool it is known once it is prepared.
    #[must_use]
    pub fn only_reads(&self, path: &str) -> bool {
        reads().contains(&path) || self.sources.known(path).is_some_and(|tool| tool.reads())
    }

    /// What a tool says of itself. A service says nothing.
    #[must_use]
    pub fn declares(&self, path: &str) -> Declared {
        self.sources.known(path).map_or_else(|| declared(path), |tool| tool.declares())
    }

    /// Takes up what earlier attempts of the run left with the tools.
    pub fn recall(&self, journal: &Journal) {
        for (n, call) in (0_u32..).zip(journal.calls()) {
            let text = call.reply.as_ref().map(|reply| reply.text.as_str()).unwrap_or_default();
            if text.contains("\"cut\":")
                && let Ok(Marked { cut: Some(warning) }) = serde_json::from_str(text)
            {
                self.cuts.borrow_mut().insert(n, warning);
            }
            let answered = call.reply.as_ref().is_some_and(|reply| reply.fault.is_none());
            if call.path == "emit" && answered {
                // It was taken once, so it fits.
                let _ = self.emitted.take(&call.args);
            }
        }
    }

    /// A reply as it is recorded: with the warning that its answer was cut, which another attempt of the
    /// run is to give, too.
    #[must_use]
    pub fn marked(&self, n: u32, reply: String) -> String {
        match (self.cuts.borrow().get(&n), reply.strip_suffix('}')) {
            (Some(warning), Some(open)) => format!("{open},\"cut\":{}}}", json!(warning)),
            _ => reply,
        }
    }

    /// Warnings of answers that were cut.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.cuts.borrow().values().cloned().collect()
    }

    /// What the program has emitted for the person, in plain form, in order.
    #[must_use]
    pub fn emitted(&self) -> Vec<Box<RawValue>> {
        self.emitted.values()
    }

    /// Whether a call of `path` can be made again when its answer was lost: what it did before is
    /// found.
    #[must_use]
    pub fn is_repeatable(&self, path: &str) -> bool {
        self.only_reads(path)
            || Maker::has(path)
            || self.nested.is_some() && path == nested::PATH
            || self.sources.known(path).is_some_and(|tool| tool.repeatable())
    }

    /// Calls a tool as the run's call `n`. `arguments` and the answer are tagged JSON. Dropping the
    /// future stops the call as far as the tool can be stopped.
    ///
    /// # Errors
    ///
    /// What the tool failed with, or why it was not called.
    pub async fn call(&self, n: u32, path: &str, arguments: &str) -> Result<Came, Fault> {
        // Each a future of its own: V8 compiles a function whole when it is first called.
        let mut answer = match path {
            "emit" => self.emitted.take(arguments),
            "storage.get" => storage::get(&self.db, &self.caller, arguments).boxed_local().await,
            "storage.set" => storage::set(&self.db, &self.caller, arguments).boxed_local().await,
            "storage.list" => storage::list(&self.db, &self.caller, arguments).boxed_local().await,
            "storage.delete" => {
                storage::delete(&self.db, &self.caller, arguments).boxed_local().await
            }
            "http.fetch" => {
                http::fetch(&self.db, &self.config, &self.caller, arguments).boxed_local().await
            }
            "service.alarm" => alarm::set(&self.db, &self.caller, arguments).boxed_local().await,
            find::SEARCH => {
                let wanted: find::Search = read(path, arguments)?;
                let found = find::search(&self.db, &self.caller.principal, &wanted).boxed_local();
                let found = found.await?;
                tagged(path, &found)
            }
            find::DESCRIBE => {
                let wanted: Described = read(path, arguments)?;
                let found = find::describe(&self.db, &self.caller.principal, &wanted.path);
                let found = found.boxed_local().await?;
                tagged(path, &found)
            }
            _ if Maker::has(path) => match &self.workflows {
                Some(workflows) => workflows.call(n, path, arguments).boxed_local().await,
                None => return Err(self.unknown(path).boxed_local().await?),
            },
            nested::PATH if self.nested.is_some() => {
                let Some(nested) = &self.nested else { return Err(self.unknown(path).await?) };
                let told = Told::default();
                let heard = self.teller.as_ref().map(|_| told.clone());
                match self.told(&told, nested.invoke(n, arguments, heard)).boxed_local().await? {
                    Came::Back(answer) => Ok(answer),
                    waits @ Came::Waits(_) => return Ok(waits),
                }
            }
            _ => match (self.sources.find(path).await?, &self.service) {
                (Some(tool), _) => {
                    let told = Told::default();
                    let hear = |what: source::Told| match what {
                        source::Told::Progress(text) => told.put(format!("{path}: {text}")),
                        source::Told::Cut(at) => self.cut(n, path, &at),
                        source::Told::Changed => {}
                    };
                    let called = self.sources.call(&tool, arguments, &self.caller, &hear);
                    self.told(&told, called).boxed_local().await
                }
                (None, Some(service)) => {
                    service.call(path, arguments, &self.caller, &self.policy).boxed_local().await?
                }
                (None, None) => Err(self.unknown(path).boxed_local().await?),
            },
        }?;
        let bytes = u64::try_from(answer.len()).unwrap_or(u64::MAX);
        let limit = self.caller.answer_bytes;
        if bytes > limit {
            // What has tags is no longer what it was when it is cut.
            let can_be_cut = self.sources.known(path).is_some() && !answer.contains("\"$\"");
            let room = usize::try_from(limit).unwrap_or(usize::MAX);
            let beginning = can_be_cut.then(|| cut::json(&answer, room)).flatten();
            let beginning = beginning.ok_or_else(|| too_large(path, Some(bytes), limit))?;
            self.cut(n, path, &beginning.at);
            answer = beginning.value;
        }
        Ok(Came::Back(answer))
    }

    fn cut(&self, n: u32, path: &str, at: &str) {
        let warning = cut::warning(path, at, self.caller.answer_bytes);
        self.cuts.borrow_mut().insert(n, warning);
    }

    async fn unknown(&self, path: &str) -> Result<Fault, Fault> {
        let near = find::nearest(&self.db, &self.caller.principal, &self.policy, path).await?;
        Ok(not_found_but(path, near))
    }
}

/// An answer that is too large and cannot be cut.
fn too_large(path: &str, bytes: Option<u64>, limit: u64) -> Fault {
    let what = format!("{path}: the answer");
    Fault::limit("answerBytes", &what, bytes, limit, "bytes").with("tool", path).with_next_step(
        "Ask the tool for less at a time: a page, a filter, fewer fields. The call itself was made.",
    )
}

/// A recorded reply whose answer was cut.
#[derive(serde::Deserialize)]
struct Marked {
    #[serde(default)]
    cut: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    path: String,
}

fn read<'a, T: serde::Deserialize<'a>>(path: &str, arguments: &'a str) -> Result<T, Fault> {
    serde_json::from_str(arguments).map_err(|error| {
        // serde names the field; its place in the encoded text would mean nothing to the caller.
        unfit(path, error.to_string().split(" at line ").next().unwrap_or_default())
    })
}

fn tagged(path: &str, plain: &str) -> Result<String, Fault> {
    value::tagged(plain).map_err(|error| Fault::internal(path, error.to_string()))
}

/// What a tool says of itself, as far as that is known without asking its source.
#[must_use]
pub fn declared(path: &str) -> Declared {
    if reads().contains(&path) { Declared::ReadOnly } else { Declared::Unknown }
}

/// The built-in tools whose calls only read.
#[must_use]
pub fn reads() -> Vec<&'static str> {
    let built_in = BUILT_IN.iter().chain(&program::PATHS);
    built_in.filter(|(_, reads)| *reads).map(|(name, _)| *name).collect()
}

/// The built-in tools that a policy does not hide.
pub fn built_in(policy: &Policy) -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).filter(|name| !policy.hides(name))
}

fn is_built_in(path: &str) -> bool {
    BUILT_IN.iter().any(|(name, _)| *name == path)
}

/// No tool has the name; the nearest of those that exist are named, but for those that are hidden.
#[must_use]
pub fn not_found(path: &str, others: &[String], policy: &Policy) -> Fault {
    let others = program::PATHS
        .iter()
        .map(|(name, _)| *name)
        .chain(others.iter().map(String::as_str))
        .filter(|name| !policy.hides(name));
    let known = built_in(policy).map(|name: &str| name).chain(others);
    let near = names::nearest(path, known, 3).into_iter().map(str::to_owned).collect();
    not_found_but(path, near)
}

/// No tool has the name; those that may be meant.
#[must_use]
pub fn not_found_but(path: &str, near: Vec<String>) -> Fault {
    let message = if near.is_empty() {
        format!("There is no tool {path}.")
    } else {
        format!("There is no tool {path}. Near names: {}.", near.join(", "))
    };
    Fault::new(Code::ToolNotFound, message).with("tool", path).with("near", near)
}

/// A tool that failed, with what it said of itself. A failure without a message is a failure.
#[must_use]
pub fn failed(path: &str, name: Option<&str>, message: &str, code: Option<&str>) -> Fault {
    let said = if message.is_empty() { "it gave no message" } else { message };
    let mut thrown = Map::new();
    thrown.insert("name".to_owned(), json!(name.unwrap_or("Error")));
    thrown.insert("message".to_owned(), json!(said));
    if let Some(code) = code {
        thrown.insert("code".to_owned(), json!(code));
    }
    let suffix = code.map(|code| format!(" [{code}]")).unwrap_or_default();
    Fault::new(Code::ToolFailed, format!("{path}: {said}{suffix}"))
        .with("tool", path)
        .with("thrown", Value::Object(thrown))
}

/// What a service answered to a tool's call, or what it failed with.
///
/// # Errors
///
/// `tool_failed`, with what the service said as the error's `data`.
pub fn answered(path: &str, answer: Result<String, exchange::ToolError>) -> Result<String, Fault> {
    answer.map_err(|error| {
        let mut fault = failed(path, Some(error.name), &error.message, error.code.as_deref());
        let data = serde_json::from_str::<Value>(&error.data).unwrap_or_default();
        if let Some(thrown) = fault.details.get_mut("thrown").and_then(Value::as_object_mut) {
            thrown.insert("data".to_owned(), data);
        }
        fault
    })
}

/// Arguments that do not fit; `what` names the path in the arguments.
#[must_use]
pub fn unfit(path: &str, what: impl std::fmt::Display) -> Fault {
    Fault::new(Code::ArgumentsInvalid, format!("{path}: {what}.")).with("tool", path)
}

/// The answer to a dispatch, as the harness reads it. An error carries what the program may know:
/// the tool's own words where it had some, ours otherwise; never a cause.
#[must_use]
pub fn reply_of(path: &str, answer: &Result<String, Fault>) -> String {
    match answer {
        Ok(value) => format!("{{\"value\":{value}}}"),
        Err(fault) => {
            let thrown = fault.details.get("thrown");
            let part = |key: &str| thrown.and_then(|thrown| thrown.get(key)).cloned();
            let entry = fault.code.entry();
            json!({ "error": {
                "name": part("name").unwrap_or_else(|| json!("ToolError")),
                "message": part("message").unwrap_or_else(|| json!(fault.message)),
                "code": part("code").unwrap_or_else(|| match fault.code {
                    Code::ToolFailed => Value::Null,
                    _ => json!(entry.code),
                }),
                "data": part("data"),
                "kind": entry.kind,
                "tool": path,
            }})
            .to_string()
        }
    }
}
