//! The tools that are listed and can be called, one file each.

mod execute;
mod of_one;
mod package_invoke;
mod package_list;
mod run_list;
mod schedule_change;
mod schedule_list;
mod schedule_put;
mod service_start;
mod service_status;
mod tool_search;
mod workflow_create;

pub use execute::Execute;
pub use package_invoke::PackageInvoke;
pub use package_list::PackageList;
pub use run_list::RunList;
pub use schedule_change::{Change, ScheduleChange};
pub use schedule_list::ScheduleList;
pub use schedule_put::SchedulePut;
pub use service_start::ServiceStart;
pub use service_status::ServiceStatus;
pub use workflow_create::WorkflowCreate;

use super::{arguments::Arguments, rpc_error::RpcError};
use crate::{error::Fault, run::outcome::Status, tools::find::Search};
use serde_json::{Value, value::RawValue};

/// The names of the tools, in the order in which they are listed.
const NAMES: [&str; 20] = [
    execute::NAME,
    of_one::RUN_GET,
    run_list::NAME,
    package_list::NAME,
    package_invoke::NAME,
    of_one::RESUME,
    tool_search::NAME,
    of_one::TOOL_DESCRIBE,
    service_start::NAME,
    of_one::SERVICE_STOP,
    service_status::NAME,
    of_one::RUN_ROLLBACK,
    workflow_create::NAME,
    run_list::OF_WORKFLOWS,
    of_one::WORKFLOW_CANCEL,
    schedule_put::NAME,
    schedule_list::NAME,
    schedule_change::PAUSE,
    schedule_change::RUN,
    schedule_change::DELETE,
];

/// What the descriptions say that differs from one deployment or principal to another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guide {
    /// The built-in tools that the principal's policy does not hide.
    pub built_in: Vec<String>,
    /// Names of the sources the principal has connected, beside what is built in.
    pub sources: Vec<String>,
    /// One sentence: where work goes that takes longer than the budget.
    pub longer_work: Option<String>,
    /// The budget of autonomous compute of `execute`, in milliseconds.
    pub budget_ms: u64,
}

/// One call of a tool, its arguments in order.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Tool {
    /// Runs a program.
    Execute(Execute),
    /// Looks a run up, by its id.
    RunGet(String),
    /// Lists runs.
    RunList(RunList),
    /// Lists packages.
    PackageList(PackageList),
    /// Invokes an export of a package.
    PackageInvoke(PackageInvoke),
    /// Waits for a run to go on; its id.
    Resume(String),
    /// Finds tools that programs can call.
    ToolSearch(Search),
    /// Says how one is called; its path.
    ToolDescribe(String),
    /// Has a service kept at work.
    ServiceStart(ServiceStart),
    /// Asks a service to stop: `package/service`.
    ServiceStop(String),
    /// Looks at services.
    ServiceStatus(ServiceStatus),
    /// Undoes what a run did; its id.
    RunRollback(String),
    /// Starts a durable run.
    WorkflowCreate(WorkflowCreate),
    /// Lists durable runs.
    WorkflowRunList(RunList),
    /// Ends a durable run; its id.
    WorkflowCancel(String),
    /// Has something run at its times.
    SchedulePut(SchedulePut),
    /// Looks at schedules.
    ScheduleList(ScheduleList),
    /// Pauses, runs or deletes a schedule.
    ScheduleChange(ScheduleChange),
}

/// Why a call is none.
#[derive(Debug)]
pub(super) enum NoCall {
    /// There is no such tool: an error of the protocol.
    Unknown(RpcError),
    /// The arguments do not do: a result that the model can read.
    Arguments(Fault),
}

impl Tool {
    /// Reads a call. `budget_ms` is the most that `execute` may ask for.
    pub(super) fn read(
        name: &str,
        arguments: Option<&RawValue>,
        budget_ms: u64,
    ) -> Result<Self, NoCall> {
        let arguments = || Arguments::read(arguments);
        let of_one = |tool| of_one::read(tool, arguments());
        match name {
            execute::NAME => Execute::read(arguments(), budget_ms).map(Self::Execute),
            of_one::RUN_GET => of_one(of_one::RUN_GET).map(Self::RunGet),
            run_list::NAME => RunList::read(run_list::NAME, arguments()).map(Self::RunList),
            package_list::NAME => PackageList::read(arguments()).map(Self::PackageList),
            package_invoke::NAME => PackageInvoke::read(arguments()).map(Self::PackageInvoke),
            of_one::RESUME => of_one(of_one::RESUME).map(Self::Resume),
            tool_search::NAME => tool_search::read(arguments()).map(Self::ToolSearch),
            of_one::TOOL_DESCRIBE => of_one(of_one::TOOL_DESCRIBE).map(Self::ToolDescribe),
            service_start::NAME => ServiceStart::read(arguments()).map(Self::ServiceStart),
            of_one::SERVICE_STOP => of_one(of_one::SERVICE_STOP).map(Self::ServiceStop),
            service_status::NAME => ServiceStatus::read(arguments()).map(Self::ServiceStatus),
            of_one::RUN_ROLLBACK => of_one(of_one::RUN_ROLLBACK).map(Self::RunRollback),
            workflow_create::NAME => WorkflowCreate::read(arguments()).map(Self::WorkflowCreate),
            run_list::OF_WORKFLOWS => {
                RunList::read(run_list::OF_WORKFLOWS, arguments()).map(Self::WorkflowRunList)
            }
            of_one::WORKFLOW_CANCEL => of_one(of_one::WORKFLOW_CANCEL).map(Self::WorkflowCancel),
            schedule_put::NAME => SchedulePut::read(arguments()).map(Self::SchedulePut),
            schedule_list::NAME => ScheduleList::read(arguments()).map(Self::ScheduleList),
            schedule_change::PAUSE => {
                ScheduleChange::read(schedule_change::PAUSE, arguments()).map(Self::ScheduleChange)
            }
            schedule_change::RUN => {
                ScheduleChange::read(schedule_change::RUN, arguments()).map(Self::ScheduleChange)
            }
            schedule_change::DELETE => {
                ScheduleChange::read(schedule_change::DELETE, arguments()).map(Self::ScheduleChange)
            }
            _ => return Err(NoCall::Unknown(RpcError::tool(name, &NAMES))),
        }
        .map_err(NoCall::Arguments)
    }

    /// Its name, as listed.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Execute(_) => execute::NAME,
            Self::RunGet(_) => of_one::RUN_GET,
            Self::RunList(_) => run_list::NAME,
            Self::Resume(_) => of_one::RESUME,
            Self::ToolSearch(_) => tool_search::NAME,
            Self::ToolDescribe(_) => of_one::TOOL_DESCRIBE,
            Self::RunRollback(_) => of_one::RUN_ROLLBACK,
            Self::WorkflowCreate(_) => workflow_create::NAME,
            Self::WorkflowRunList(_) => run_list::OF_WORKFLOWS,
            Self::WorkflowCancel(_) => of_one::WORKFLOW_CANCEL,
            Self::SchedulePut(_) => schedule_put::NAME,
            Self::ScheduleList(_) => schedule_list::NAME,
            Self::ScheduleChange(change) => change.tool(),
            Self::PackageList(_) => package_list::NAME,
            Self::PackageInvoke(_) => package_invoke::NAME,
            Self::ServiceStart(_) => service_start::NAME,
            Self::ServiceStop(_) => of_one::SERVICE_STOP,
            Self::ServiceStatus(_) => service_status::NAME,
        }
    }

    /// The scope that a token needs for it. An invocation needs that of its export, and a service its
    /// own, which `execute` covers.
    #[must_use]
    pub const fn scope(&self) -> &'static str {
        match self {
            Self::Execute(_)
            | Self::PackageInvoke(_)
            | Self::Resume(_)
            | Self::RunRollback(_)
            | Self::ToolSearch(_)
            | Self::ToolDescribe(_)
            | Self::ServiceStart(_)
            | Self::ServiceStop(_)
            | Self::WorkflowCreate(_)
            | Self::WorkflowCancel(_)
            | Self::SchedulePut(_)
            | Self::ScheduleChange(_) => "execute",
            Self::RunGet(_)
            | Self::RunList(_)
            | Self::ServiceStatus(_)
            | Self::WorkflowRunList(_)
            | Self::ScheduleList(_) => "runs",
            Self::PackageList(_) => "packages",
        }
    }
}

/// The words of every status, as a schema lists them.
fn statuses() -> Vec<&'static str> {
    Status::ALL.iter().map(|status| status.as_str()).collect()
}

/// The list, in a fixed order.
pub(super) fn definitions(guide: &Guide) -> Vec<Value> {
    vec![
        execute::definition(guide),
        of_one::definition(of_one::RUN_GET),
        run_list::definition(),
        package_list::definition(),
        package_invoke::definition(),
        of_one::definition(of_one::RESUME),
        tool_search::definition(),
        of_one::definition(of_one::TOOL_DESCRIBE),
        service_start::definition(),
        of_one::definition(of_one::SERVICE_STOP),
        service_status::definition(),
        of_one::definition(of_one::RUN_ROLLBACK),
        workflow_create::definition(),
        run_list::definition_of_workflows(),
        of_one::definition(of_one::WORKFLOW_CANCEL),
        schedule_put::definition(),
        schedule_list::definition(),
    ]
    .into_iter()
    .chain(schedule_change::definitions())
    .collect()
}

/// Reads a definition. The files are ours and a test reads each: one that cannot be read would be
/// listed as `null`.
fn parse(file: &str) -> Value {
    serde_json::from_str(file).unwrap_or_default()
}
