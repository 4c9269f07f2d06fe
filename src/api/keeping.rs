//! The MCP tools of what is kept at work: services and schedules.

use super::App;
use crate::attempt::Order;
use crate::error::Fault;
use crate::mcp::{Change, ScheduleChange, SchedulePut, Tool};
use crate::packages::Target;
use crate::schedules::{self, rule::Missed};
use crate::services;

/// How long `service_stop` waits: the usual grace and the time until the service hears of it.
const STOP_WAIT_MS: u64 = 15_000;

/// What a call came to.
#[derive(Debug)]
pub(super) enum Done {
    /// This is told.
    Told(String),
    /// A run begins, and its end is told.
    Runs(Box<Order>),
}

/// Carries out a call; that its token may was found before.
///
/// # Errors
///
/// Whatever refuses it; the database.
pub(super) async fn call(
    app: &App,
    principal: &str,
    tool: Tool,
    origin: &str,
) -> Result<Done, Fault> {
    let hands = app.hands();
    let told = match tool {
        Tool::ServiceStart(start) => {
            let target = Target::read(&start.name)?;
            let wanted = services::Start { params: start.params, version: start.version };
            services::start(&hands, principal, &target, wanted, origin).await
        }
        Tool::ServiceStop(stop) => {
            let target = Target::read(&stop.name)?;
            services::stop(&hands, principal, &target, STOP_WAIT_MS).await
        }
        Tool::ServiceStatus(status) => match status.name.as_deref().map(Target::read) {
            None => services::list(&hands, principal, None, status.cursor.as_deref()).await,
            Some(target) => services::status(&hands, principal, &target?).await,
        },
        Tool::SchedulePut(put) => {
            let (name, wanted) = put_of(put)?;
            schedules::put(&hands, principal, &name, wanted, origin).await
        }
        Tool::ScheduleList(list) => match (&list.name, list.cursor.as_deref()) {
            (None, cursor) => schedules::list(&hands, principal, None, cursor).await,
            (Some(name), cursor) => schedules::history(&hands, principal, name, None, cursor).await,
        },
        Tool::ScheduleChange(ScheduleChange { name, change }) => match change {
            Change::Run => {
                let order = schedules::run_now(&hands, principal, &name, origin).await?;
                return Ok(Done::Runs(Box::new(order)));
            }
            Change::Delete => schedules::delete(&hands, principal, &name).await,
            Change::Pause => schedules::pause(&hands, principal, &name, true).await,
            Change::Resume => schedules::pause(&hands, principal, &name, false).await,
        },
        other => Err(super::internal(&format!("{} is kept elsewhere", other.name()))),
    };
    told.map(Done::Told)
}

/// A schedule as a tool call puts it, and its name.
fn put_of(call: SchedulePut) -> Result<(String, schedules::Put), Fault> {
    let run = call.run.as_deref().map_or("{}", serde_json::value::RawValue::get);
    let run = serde_json::from_str(run).map_err(|error| Fault::invalid("run", error))?;
    let put = schedules::Put {
        cron: call.cron,
        zone: call.zone,
        every: call.every.map(Into::into),
        once: call.once.map(Into::into),
        run,
        missed: call.missed.as_deref().and_then(Missed::parse).unwrap_or_default(),
        paused: false,
    };
    Ok((call.name, put))
}
