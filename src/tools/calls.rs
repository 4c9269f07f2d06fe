//! The sources of one attempt: which tool a path means, whether its arguments fit, and its call. What was
//! looked up is kept for the attempt: a tool does not change under a program that runs.

use super::connect::{not_found, settings_of};
use super::import::{Hints, Plan};
use super::policy::Declared;
use super::source::{Call, Connected, Later, Reach, Source as _, Told};
use super::turns::Turns;
use super::{Caller, unfit};
use crate::config::Config;
use crate::error::Fault;
use crate::platform::clock::{now_ms, sleep_ms};
use crate::run::value;
use crate::store::db::Db;
use crate::store::sources as table;
use crate::store::turns;
use crate::tools::schema;
use futures_util::future::FutureExt as _;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Problems of one argument that are told.
const PROBLEMS: usize = 5;

/// A tool of a source.
#[derive(Debug)]
pub struct Known {
    row: table::Tool,
    hints: Hints,
    plan: Plan,
    parameters: Value,
}

/// A source that this attempt has called.
#[derive(Debug)]
struct Open {
    reach: Reach,
    connected: Connected,
    turns: Turns,
}

/// How often a call that waits for its turn looks, in milliseconds.
const LOOK_MS: u64 = 250;

/// How much longer than its call a turn may last, in milliseconds.
const AFTER_MS: u64 = 5_000;

/// A place among the calls of a source; dropped, it is given back.
#[derive(Debug)]
struct Held {
    id: u64,
    db: Rc<Db>,
    later: Later,
}

impl Drop for Held {
    fn drop(&mut self) {
        let (id, db) = (self.id, Rc::clone(&self.db));
        let given_back = async move {
            // One that is lost runs out.
            let _ = db.run(&turns::leave(id)).await;
        };
        self.later.spawn(given_back.boxed_local());
    }
}

/// The sources of one attempt.
#[derive(Debug)]
pub struct Sources {
    env: worker::Env,
    db: Rc<Db>,
    config: Rc<Config>,
    later: Later,
    principal: Rc<str>,
    names: RefCell<Option<Rc<[String]>>>,
    known: RefCell<BTreeMap<String, Rc<Known>>>,
    open: RefCell<BTreeMap<String, Rc<Open>>>,
}

impl Known {
    fn read(row: table::Tool) -> Result<Self, Fault> {
        let wrong =
            |error: serde_json::Error| Fault::internal("tool", format!("{}: {error}", row.path));
        Ok(Self {
            hints: serde_json::from_str(&row.hints).map_err(wrong)?,
            plan: serde_json::from_str(&row.plan).map_err(wrong)?,
            parameters: serde_json::from_str(&row.parameters).map_err(wrong)?,
            row,
        })
    }

    /// Whether a call only reads.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.hints.reads == Some(true)
    }

    /// Whether a call may be made again.
    #[must_use]
    pub fn repeatable(&self) -> bool {
        self.reads() || self.hints.idempotent == Some(true)
    }

    /// What the tool says of itself.
    #[must_use]
    pub fn declares(&self) -> Declared {
        declared(self.hints)
    }
}

/// What hints declare.
#[must_use]
pub fn declared(hints: Hints) -> Declared {
    match (hints.reads, hints.destructive) {
        (Some(true), _) => Declared::ReadOnly,
        (_, Some(true)) => Declared::Destructive,
        _ => Declared::Unknown,
    }
}

impl Sources {
    /// The sources of a principal.
    #[must_use]
    pub fn of(
        env: worker::Env,
        db: Rc<Db>,
        config: Rc<Config>,
        later: Later,
        principal: &str,
    ) -> Self {
        Self {
            env,
            db,
            config,
            later,
            principal: principal.into(),
            names: RefCell::default(),
            known: RefCell::default(),
            open: RefCell::default(),
        }
    }

    /// A tool that was looked up before.
    #[must_use]
    pub fn known(&self, path: &str) -> Option<Rc<Known>> {
        self.known.borrow().get(path).cloned()
    }

    /// The tool of a path; `None` when no source has it.
    ///
    /// # Errors
    ///
    /// The database.
    pub async fn find(&self, path: &str) -> Result<Option<Rc<Known>>, Fault> {
        if let Some(known) = self.known(path) {
            return Ok(Some(known));
        }
        let source = path.split('.').next().unwrap_or_default();
        if !self.names().await?.iter().any(|name| name == source) {
            return Ok(None);
        }
        let Some(row) = table::tool(&self.db, &self.principal, path).await? else {
            return Ok(None);
        };
        let known = Rc::new(Known::read(row)?);
        self.known.borrow_mut().insert(path.to_owned(), Rc::clone(&known));
        Ok(Some(known))
    }

    /// Takes the names of the sources as they were read by somebody else.
    pub fn know(&self, names: Vec<String>) {
        *self.names.borrow_mut() = Some(names.into());
    }

    async fn names(&self) -> Result<Rc<[String]>, Fault> {
        if let Some(names) = self.names.borrow().as_ref() {
            return Ok(Rc::clone(names));
        }
        let names: Rc<[String]> = table::names(&self.db, &self.principal).await?.into();
        *self.names.borrow_mut() = Some(Rc::clone(&names));
        Ok(names)
    }

    /// Looks a tool up and holds the arguments, tagged, against what it takes. A path that no source has
    /// is not refused here.
    ///
    /// # Errors
    ///
    /// `arguments_invalid` naming the path in the arguments; the database.
    pub async fn prepare(&self, path: &str, arguments: &str) -> Result<(), Fault> {
        match self.find(path).await? {
            Some(known) => fits(path, &known.parameters, arguments),
            None => Ok(()),
        }
    }

    /// Calls a tool that [`Sources::find`] found.
    ///
    /// # Errors
    ///
    /// What it failed with.
    pub async fn call(
        &self,
        known: &Known,
        arguments: &str,
        caller: &Caller,
        told: &dyn Fn(Told),
    ) -> Result<String, Fault> {
        let path = known.row.path.as_str();
        let open = self.opened(&known.row.source).await?;
        let _turn = open.turns.take().await;
        let _turn_of_all = self.turn_of_all(&open.reach, caller.call_ms).boxed_local().await?;
        let call = Call {
            path,
            plan: &known.plan,
            parameters: &known.row.parameters,
            arguments,
            repeatable: known.repeatable(),
        };
        let reach = open.reach.of_tool(path, caller.answer_bytes);
        let hear = |what: Told| match what {
            Told::Changed => self.changed(&known.row.source),
            what => told(what),
        };
        open.connected.call(&reach, call, &hear).await
    }

    /// A turn among the calls of all runs, where the source takes only so many at once. It waits by
    /// looking: a promise of another request is never awaited.
    async fn turn_of_all(&self, reach: &Reach, call_ms: u64) -> Result<Option<Held>, Fault> {
        let Some(most) = reach.settings.at_once else { return Ok(None) };
        let of = turns::Of {
            principal: &self.principal,
            source: &reach.source,
            most,
            // What follows the end of the call is a moment.
            call_ms: call_ms.saturating_add(AFTER_MS),
        };
        let mut held: Option<Held> = None;
        loop {
            let now = now_ms();
            let place = match &held {
                Some(held) => turns::look(&self.db, &of, held.id, now).await?,
                None => turns::join(&self.db, &of, now).await?,
            };
            // A place that ran out is taken anew.
            held = place.map(|place| held.take().unwrap_or_else(|| self.held(place.id)));
            if place.is_some_and(|place| place.has_turn(&of, now)) {
                return Ok(held);
            }
            sleep_ms(LOOK_MS).await;
        }
    }

    fn held(&self, id: u64) -> Held {
        Held { id, db: Rc::clone(&self.db), later: self.later.clone() }
    }

    async fn opened(&self, name: &str) -> Result<Rc<Open>, Fault> {
        if let Some(open) = self.open.borrow().get(name) {
            return Ok(Rc::clone(open));
        }
        let row = table::find(&self.db, &self.principal, name).await?;
        let row = row.ok_or_else(|| not_found(name))?;
        let settings = Rc::new(settings_of(&row)?);
        let facts = serde_json::from_str(&row.facts).unwrap_or_default();
        let made = Rc::new(Open {
            connected: Connected::of(&settings, &facts),
            turns: Turns::new(settings.concurrency()),
            reach: Reach {
                env: self.env.clone(),
                db: Rc::clone(&self.db),
                config: Rc::clone(&self.config),
                principal: Rc::clone(&self.principal),
                source: name.into(),
                settings,
                later: self.later.clone(),
                label: name.into(),
                answer_bytes: 0,
            },
        });
        // Two first calls at once share what the first of them opened.
        let mut all = self.open.borrow_mut();
        Ok(Rc::clone(all.entry(name.to_owned()).or_insert(made)))
    }

    fn changed(&self, name: &str) {
        let (db, principal, name) =
            (Rc::clone(&self.db), Rc::clone(&self.principal), name.to_owned());
        let noted = async move {
            // A note that is lost is made up for by the time to live.
            let _ = table::is_stale(&db, &principal, &name, now_ms()).await;
        };
        self.later.spawn(noted.boxed_local());
    }
}

/// Holds arguments, tagged, against a schema.
///
/// # Errors
///
/// `arguments_invalid` naming every path, as far as there is room.
pub fn fits(path: &str, parameters: &Value, arguments: &str) -> Result<(), Fault> {
    let (plain, _) = value::plain(arguments).map_err(|error| unfit(path, error))?;
    let value: Value = serde_json::from_str(&plain).map_err(|error| unfit(path, error))?;
    let problems = schema::validate(parameters, &value, "arguments");
    if problems.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = problems.iter().take(PROBLEMS).map(ToString::to_string).collect();
    let more = problems.len().saturating_sub(told.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let list: Vec<Value> = problems
        .iter()
        .take(PROBLEMS)
        .map(|problem| serde_json::json!({ "path": problem.path, "problem": problem.what }))
        .collect();
    Err(unfit(path, format!("{}{more}", told.join("; "))).with("problems", list))
}

#[cfg(test)]
mod tests {
    //! What does not fit is named by its path.

    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_that_do_not_fit_are_named_by_their_path() {
        let schema = json!({
            "type": "object",
            "properties": { "to": { "type": "object", "properties": { "n": { "type": "integer" } } } },
            "required": ["to"],
        });
        assert_eq!(fits("a.b", &schema, r#"{"to":{"n":1}}"#), Ok(()));
        let fault = fits("a.b", &schema, r#"{"to":{"n":"x"}}"#).unwrap_err();
        assert!(fault.message.starts_with("a.b: arguments.to.n must be an integer"), "{fault:?}");
        let fault = fits("a.b", &schema, "{}").unwrap_err();
        assert!(fault.message.contains("arguments.to is required"), "{fault:?}");
        assert_eq!(fault.details["problems"][0]["path"], "arguments.to");
    }

    #[test]
    fn hints_declare_what_a_call_does() {
        let hints = |reads, destructive| Hints { reads, destructive, idempotent: None };
        assert_eq!(declared(hints(Some(true), Some(true))), Declared::ReadOnly);
        assert_eq!(declared(hints(Some(false), Some(true))), Declared::Destructive);
        assert_eq!(declared(hints(None, None)), Declared::Unknown);
    }
}
