//! What MCP tools answer at once: all but those that open a run or wait for one ([`super::mcp`]).

use super::{App, internal};
use crate::auth::Principal;
use crate::error::Fault;
use crate::mcp::{Change, RunList, ScheduleChange, SchedulePut, Tool, WorkflowCreate};
use crate::packages::{self, Target};
use crate::run::outcome::Status;
use crate::runs::{self, Page};
use crate::schedules::{self, rule::Missed};
use crate::services;
use crate::tools::find;
use crate::workflows::{self, WorkflowRequest};

/// How long `service_stop` waits: the usual grace and the time until the service hears of it.
const STOP_WAIT_MS: u64 = 15_000;

/// The JSON text that `tool` answers a principal who may call it.
///
/// # Errors
///
/// Whatever refuses the call.
pub async fn of(
    app: &App,
    principal: &Principal,
    tool: Tool,
    origin: &str,
) -> Result<String, Fault> {
    let name = &principal.name;
    match tool {
        Tool::RunGet(id) => runs::get(&app.db, &app.desk, name, &id).await,
        Tool::RunList(list) => {
            let limit = list.limit.map(|limit| limit.to_string());
            runs::list(&app.db, name, &page(&list, limit.as_deref())).await
        }
        Tool::PackageList(list) => {
            let limit = list.limit.map(|limit| limit.to_string());
            packages::list(&app.db, name, limit.as_deref(), list.cursor.as_deref()).await
        }
        Tool::ToolSearch(search) => find::search(&app.db, name, &search).await,
        Tool::ToolDescribe(path) => find::describe(&app.db, name, &path).await,
        Tool::ServiceStart(start) => {
            let target = Target::read(&start.name)?;
            let wanted = services::Start { params: start.params, version: start.version };
            services::start(&app.hands(), name, &target, wanted, origin).await
        }
        Tool::ServiceStop(service) => {
            let target = Target::read(&service)?;
            services::stop(&app.hands(), name, &target, STOP_WAIT_MS).await
        }
        Tool::ServiceStatus(status) => {
            let hands = app.hands();
            match status.name.as_deref().map(Target::read).transpose()? {
                None => services::list(&hands, name, None, status.cursor.as_deref()).await,
                Some(target) => services::status(&hands, name, &target).await,
            }
        }
        Tool::WorkflowCreate(create) => {
            let request = workflow(create);
            Ok(workflows::create(&app.hands(), name, origin, request).await?.text)
        }
        Tool::WorkflowRunList(list) => {
            let limit = list.limit.map(|limit| limit.to_string());
            workflows::list(&app.hands(), name, &page(&list, limit.as_deref())).await
        }
        Tool::WorkflowCancel(id) => workflows::cancel(&app.hands(), name, &id).await,
        Tool::SchedulePut(put) => {
            let (at, wanted) = schedule(put)?;
            schedules::put(&app.hands(), name, &at, wanted, origin).await
        }
        Tool::ScheduleList(list) => {
            let (hands, cursor) = (app.hands(), list.cursor.as_deref());
            match &list.name {
                None => schedules::list(&hands, name, None, cursor).await,
                Some(of) => schedules::history(&hands, name, of, None, cursor).await,
            }
        }
        Tool::ScheduleChange(ScheduleChange { name: of, change }) => {
            let hands = app.hands();
            match change {
                Change::Delete => schedules::delete(&hands, name, &of).await,
                Change::Pause => schedules::pause(&hands, name, &of, true).await,
                Change::Resume => schedules::pause(&hands, name, &of, false).await,
                Change::Run => Err(internal("a schedule that is run is not answered at once")),
            }
        }
        Tool::Execute(_) | Tool::PackageInvoke(_) | Tool::Resume(_) | Tool::RunRollback(_) => {
            Err(internal("a tool that opens a run, or waits for one, is not answered at once"))
        }
    }
}

/// A schedule as a tool call puts it, and its name.
fn page<'a>(list: &'a RunList, limit: Option<&'a str>) -> Page<'a> {
    Page { limit, cursor: list.cursor.as_deref(), status: list.status.map(Status::as_str) }
}

fn schedule(call: SchedulePut) -> Result<(String, schedules::Put), Fault> {
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

fn workflow(create: WorkflowCreate) -> WorkflowRequest {
    WorkflowRequest {
        code: create.code,
        package: create.package,
        version: create.version,
        params: create.params,
        run_at: create.run_at.map(Into::into),
        idempotency_key: create.idempotency_key,
        label: create.label,
        retries: create.retries.map(Into::into),
        budget_ms: None,
        limits: None,
    }
}
