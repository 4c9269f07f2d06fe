//! Where a run came from, and the budget that belongs to it.

use serde::{Deserialize, Serialize};

/// Where a run came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// An ad hoc program.
    Execute,
    /// An export of a package.
    Invocation,
    /// One step of a durable run.
    Workflow,
    /// One stretch of a service.
    Service,
}

impl Surface {
    /// The word in tables and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::Invocation => "invocation",
            Self::Workflow => "workflow",
            Self::Service => "service",
        }
    }

    /// The most continuous autonomous compute that the surface allows, in milliseconds
    /// (DESIGN §1).
    #[must_use]
    pub const fn budget_ms(self) -> u64 {
        match self {
            Self::Execute => 90_000,
            Self::Invocation | Self::Service => 300_000,
            Self::Workflow => 270_000,
        }
    }
}
