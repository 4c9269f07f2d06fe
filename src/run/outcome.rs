//! How a run ended, and the run as its readers see it.

use super::log::Line;
use super::surface::Surface;
use crate::error::Fault;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The program came to its end; its value as tagged JSON.
    Completed(String),
    /// It did not.
    Failed(Fault),
    /// The caller left or asked for the end.
    Cancelled(Fault),
    /// Not an end: the attempt is over, the run waits, for people or for its time.
    Parked,
}

impl Outcome {
    /// The `status` of a run that ended so.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            Self::Completed(_) => Status::Completed,
            Self::Failed(_) => Status::Failed,
            Self::Cancelled(_) => Status::Cancelled,
            Self::Parked => Status::WaitingApproval,
        }
    }

    /// The fault, unless it completed.
    #[must_use]
    pub const fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Completed(_) | Self::Parked => None,
            Self::Failed(fault) | Self::Cancelled(fault) => Some(fault),
        }
    }
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// An attempt is at work.
    Running,
    /// A person has to decide.
    WaitingApproval,
    /// It waits without an attempt.
    Parked,
    /// It came to its end.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl Status {
    /// Every status, for the filter of a list.
    pub const ALL: &'static [Self] = &[
        Self::Running,
        Self::WaitingApproval,
        Self::Parked,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word in tables and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::WaitingApproval => "waiting_approval",
            Self::Parked => "parked",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.as_str() == word)
    }

    /// Whether nothing can change it any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// Where the time of an attempt went, in milliseconds. `compute` and `tools` do not overlap:
/// time with at least one dispatch in flight is the tools'.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timing {
    /// From the request's arrival to the start of its first attempt, where that is its last.
    pub queued_ms: u64,
    /// Of a run that went on from its record: what lies before its last attempt, people's time and
    /// earlier attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier_ms: Option<u64>,
    /// Making the sandbox, until the program could start.
    pub loaded_ms: u64,
    /// The program on its own.
    pub compute_ms: u64,
    /// At least one dispatch in flight.
    pub tools_ms: u64,
    /// From the request's arrival to the outcome.
    pub total_ms: u64,
}

/// A question to people, as the run that waits shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The approval's id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Where a person decides.
    pub approve_url: String,
    /// Until when, Unix ms.
    pub expires_at: u64,
}

/// A run as HTTP and MCP show it. The field order is the order on the wire.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunView<'a> {
    /// The run's id.
    pub id: &'a str,
    /// Where it stands.
    pub status: Status,
    /// How it ended; `null` until it did.
    pub outcome: Option<Status>,
    /// The program's value in plain form; only when completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'a RawValue>,
    /// The message; only when failed or cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// The fault in full; only when failed or cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_details: Option<Value>,
    /// The questions that people have to answer; only while it waits for them.
    #[serde(skip_serializing_if = "<[Question]>::is_empty")]
    pub approvals: &'a [Question],
    /// Calls that would undo what it did: `POST /v1/runs/:id/rollback` makes them. Left out where there
    /// are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback_steps: Option<u64>,
    /// When it goes on by itself, Unix ms; only while it waits for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<u64>,
    /// What the program emitted for the person, in plain form; left out when it emitted nothing.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub emitted: &'a [Box<RawValue>],
    /// What the program logged.
    pub logs: &'a [Line],
    /// What was lost or should be known.
    pub warnings: &'a [String],
    /// Where the time went.
    pub timing: Timing,
    /// Where the run came from.
    pub surface: Surface,
    /// The caller's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<&'a str>,
    /// When it was accepted, Unix ms.
    pub created_at: u64,
    /// When it ended, Unix ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
}
