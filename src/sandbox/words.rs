//! What the platform says when it ends a sandbox, recognised in one place.
//!
//! The words are those of the pinned workerd (the table test holds them) or reported from
//! production. They decide only for errors that the platform made: what a program threw comes back
//! as the harness's answer, never through here.

use super::Lost;
use crate::error::{Code, Fault, message};
use crate::run::limits::Limits;
use crate::run::machine::deadlocked;

/// Reads the platform's words. `remote` is its mark for errors thrown inside the sandbox, which
/// its own lack.
#[must_use]
pub fn read(text: &str, remote: bool, limits: &Limits) -> Lost {
    let has = |words: &str| text.contains(words);
    let fault = if has("code had hung and would never generate a response")
        || has("will never generate a response")
    {
        deadlocked()
    } else if has("Failed to start Worker") && has("SyntaxError") {
        return Lost::Refused(text.to_owned());
    } else if has("Too many concurrent dynamic workers") {
        Fault::new(
            Code::CapacityExceeded,
            "The platform has no room for another sandbox; nothing ran, it is safe to retry.",
        )
    } else if has("exceeded CPU") || has("CPU time limit") || has("exceeded its CPU") {
        let limit = message::span(limits.cpu_ms);
        Fault::new(
            Code::LimitExceeded,
            format!("The program used up its CPU time of {limit} ({} ms).", limits.cpu_ms),
        )
        .with("limitName", "cpuMs")
        .with("limit", limits.cpu_ms)
    } else if has("memory limit") || has("out of memory") || has("exceeded memory") {
        Fault::new(
            Code::LimitExceeded,
            "The program used up its memory of 128 MB; hold less at once.",
        )
        .with("limitName", "memory")
        .with("limit", 134_217_728)
    } else if has("Too many subrequests") {
        Fault::limit("subRequests", "The number of subrequests", None, limits.sub_requests, "a run")
    } else if has("Serialized RPC arguments or return values are limited to 32MiB") {
        Fault::limit("resultBytes", "What the sandbox sent", None, limits.result_bytes, "bytes")
    } else if has("Dynamic Worker code size") {
        Fault::limit("sourceBytes", "The program", None, limits.source_bytes, "bytes")
    } else if !remote && (has("worker_loader") || has("Worker Loader") || has("compatibility date"))
    {
        let message = "The sandbox could not be created: the platform refused it.";
        Fault::new(Code::CreateFailed, message)
    } else if has("Failed to start Worker") || has("No such module") {
        Fault::new(Code::CreateFailed, "The sandbox could not be created: it did not start.")
    } else {
        Fault::new(
            Code::SandboxGone,
            "The sandbox of this run is gone: it ended without an outcome.",
        )
        .with("lifetimeMs", limits.ceiling_ms)
        .with_next_step(format!(
            "Calls that had begun may have had their effect: look at the run's dispatches before \
             repeating any. A sandbox lives at most as long as the ceiling of its run, {}.",
            message::span(limits.ceiling_ms)
        ))
    };
    Lost::Fault(fault.caused_by(text))
}

#[cfg(test)]
mod tests {
    //! The real strings of the pinned workerd, and what they mean.

    use super::*;
    use crate::run::surface::Surface;

    #[test]
    fn the_platforms_words_are_recognised() {
        let limits = Limits::of(Surface::Execute);
        let cases = [
            (
                "The Workers runtime canceled this request because it detected that your Worker's \
                 code had hung and would never generate a response. Refer to: \
                 https://developers.cloudflare.com/workers/observability/errors/",
                Code::Deadlocked,
            ),
            ("Too many concurrent dynamic workers", Code::CapacityExceeded),
            ("Worker exceeded CPU time limit.", Code::LimitExceeded),
            ("Worker exceeded memory limit.", Code::LimitExceeded),
            (
                "Serialized RPC arguments or return values are limited to 32MiB, but the size of \
                 this value was: 33554500 bytes.",
                Code::LimitExceeded,
            ),
            (
                "Dynamic Worker code size (67108900 bytes) exceeds the maximum allowed size of \
                 67108864 bytes.",
                Code::LimitExceeded,
            ),
            (
                "This Worker requires compatibility date \"2099-01-01\", but the newest date \
                 supported by this server binary is \"2026-11-17\".",
                Code::CreateFailed,
            ),
            ("No such module \"x\".\n  imported from \"harness.js\"", Code::CreateFailed),
            ("Network connection lost.", Code::SandboxGone),
            ("internal error; reference = abc", Code::SandboxGone),
            ("", Code::SandboxGone),
        ];
        for (text, code) in cases {
            let Lost::Fault(fault) = read(text, false, &limits) else {
                panic!("{text} was taken for a refusal")
            };
            assert_eq!(fault.code, code, "{text}");
            assert!(
                text.is_empty() || !fault.to_json().to_string().contains(text),
                "{text} leaked"
            );
        }
        let refused = "Failed to start Worker:\nUncaught SyntaxError: Unexpected token '}'\n  at \
                       program.js:1:22";
        assert!(matches!(read(refused, false, &limits), Lost::Refused(_)));
    }

    #[test]
    fn a_gone_sandbox_names_its_lifetime() {
        let Lost::Fault(fault) = read("gone", false, &Limits::of(Surface::Execute)) else {
            panic!("not a fault")
        };
        assert!(fault.next_step().contains("600s"), "{}", fault.next_step());
        assert!(!fault.is_timeout() && !fault.is_creation());
    }
}
