//! How an attempt ends: its outcome is told, stored and answered.

use super::{Arrival, Attempt, answer, over};
use crate::error::{Code, Fault};
use crate::platform::clock::now_ms;
use crate::report::desk::{Circumstances, Desk};
use crate::rollback;
use crate::run::journal::Entry;
use crate::run::outcome::{Outcome, RunView, Status};
use crate::run::segment::{Segment, Setback};
use crate::run::value;
use crate::store::db::{Statement, StoreError};
use crate::store::journal as store;
use crate::store::workflows::{self, SettingBack};
use crate::store::{approvals, attempts, ledger, runs};
use crate::tools::schema;
use futures_channel::mpsc;
use futures_util::future::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use futures_util::{pin_mut, select_biased};
use serde_json::value::RawValue;

impl Attempt {
    /// Stores the outcome and gives the response, byte for byte as it is stored.
    pub(super) async fn end(
        mut self,
        desk: &Desk,
        outcome: Outcome,
        arrivals: Option<mpsc::UnboundedReceiver<Arrival>>,
    ) -> Result<String, Fault> {
        // What was in flight is stopped; dropping the futures lets their connections go.
        self.preparing = FuturesUnordered::new();
        self.calls = FuturesUnordered::new();
        let now = now_ms();
        let outcome = self.with_plain_result(outcome);
        if let Some(fault) = outcome.fault() {
            let surface = Some(self.order.surface.as_str());
            desk.take(fault, &Circumstances { surface, run: Some(&self.order.run_id) });
        }
        let setback = match (&self.order.segment, &outcome) {
            (Some(segment), Outcome::Failed(fault)) => {
                self.set_back(&segment.clone(), &fault.clone(), now)
            }
            _ => None,
        };
        let outcome = if setback.is_some() { Outcome::Parked } else { outcome };
        let undoable = match outcome.fault() {
            Some(_) => self.undoable().boxed_local().await,
            None => None,
        };
        let response = self.response(&outcome, undoable, now);
        let error = outcome.fault().map(|fault| (fault.code.entry().code, fault.kind().word()));
        let (run, fence) = (&self.order.run_id, self.order.fence);
        // Before the last statement, which says whether the end is this attempt's.
        let (waits_as, wake_at) = self.waits();
        let ended_as = match &outcome {
            Outcome::Parked if setback.is_some() => Status::Parked,
            Outcome::Parked => waits_as,
            outcome => outcome.status(),
        };
        self.recorder.forget_beginning();
        let began = (self.began_at, self.order.limits.ceiling_ms);
        let spent = self.spent(now);
        self.recorder.push([attempts::ended(run, fence, began, &spent, (ended_as, now))]);
        if let Some(statements) = setback {
            self.recorder.push(statements);
        } else if outcome == Outcome::Parked {
            if self.order.segment.is_some() {
                self.recorder.push([workflows::came_further(run, fence)]);
            }
            self.recorder.push([store::park(run, fence, waits_as, wake_at)]);
        } else {
            if self.order.resumes || self.people.were_asked() {
                self.recorder.push([approvals::drop_open(run, fence, now)]);
            }
            if undoable.is_some() {
                let until = now.saturating_add(rollback::KEPT_MS);
                self.recorder.push([store::keep(run, fence, until)]);
            } else {
                self.forget_record();
            }
            self.recorder.push(runs::end(&runs::Ending {
                id: run,
                fence,
                status: outcome.status(),
                error: error.as_ref().map(|(code, kind)| (*code, kind.as_str())),
                ended_at: now,
                response: &response,
                logged: self.order.resumes || self.logged > 0,
            }));
        }
        let recorder = self.recorder.clone();
        let written = async move {
            while !recorder.is_idle() {
                recorder.write().await?;
            }
            Ok::<(), StoreError>(())
        }
        .fuse();
        pin_mut!(written);
        let written = match arrivals {
            None => written.await,
            Some(mut arrivals) => loop {
                select_biased! {
                    written = written => break written,
                    arrival = arrivals.next() => {
                        // A late call: the program is told that its run has ended.
                        if let Some((_, reply)) = arrival {
                            answer(reply, over());
                        }
                    },
                }
            },
        };
        if let Err(error) = written {
            return Ok(self.unstored(desk, &outcome, undoable, now, error).boxed_local().await);
        }
        if self.recorder.changed() == 0 {
            // Whoever took the run over, or the first of two writes, has the word.
            return Ok(runs::response(&self.db, &self.order.run_id).await?.unwrap_or(response));
        }
        if outcome.status().is_final()
            && (self.order.resumes || self.people.follow_others())
            && let Err(error) = crate::runs::end_left_alone(&self.db, desk, run).boxed_local().await
        {
            // What waits for people alone ends with its questions, which expire.
            worker::console_error!("run {run}: runs that it left alone: {}", error.message);
        }
        Ok(response)
    }

    /// Forgets the record of a run that is never run again: what waits of it, and what is stored.
    fn forget_record(&self) {
        let (run, fence) = (&self.order.run_id, self.order.fence);
        self.recorder.forget_entries();
        if self.recorder.has_entries() {
            self.recorder.push([store::forget_entries(run, fence)]);
        }
        if !self.recorder.forget_record() {
            self.recorder.push([store::forget_recording(run, fence)]);
        }
    }

    /// Calls that would undo what a run did that failed or was cancelled; `None` where there are none.
    async fn undoable(&mut self) -> Option<u64> {
        let plan = rollback::plan(&self.db, &self.order.principal, self.record.journal()).await;
        match plan {
            Ok(plan) => rollback::count(&plan),
            Err(error) => {
                self.warnings
                    .push("Whether the run can be undone could not be looked up.".to_owned());
                worker::console_error!("run {}: its compensations: {error}", self.order.run_id);
                None
            }
        }
    }

    /// Where the time of this attempt went.
    fn spent(&self, now: u64) -> attempts::Spent {
        let timing = self.run.timing(self.order.arrived_at, now);
        let loaded_at = self.run.loaded_at();
        attempts::Spent {
            loaded_ms: loaded_at.map(|_| timing.loaded_ms),
            replayed_ms: self
                .replayed_at
                .zip(loaded_at)
                .map(|(replayed, loaded)| replayed.saturating_sub(loaded)),
            compute_ms: timing.compute_ms,
            tools_ms: timing.tools_ms,
        }
    }

    /// How a run stands that parks, and when it goes on by itself.
    fn waits(&self) -> (Status, Option<u64>) {
        let wake_at = self.people.wake_at();
        if wake_at.is_some() && !self.people.are_asked() {
            (Status::Parked, wake_at)
        } else {
            (Status::WaitingApproval, wake_at)
        }
    }

    /// The statements by which a durable run whose attempt failed waits for another one; `None` when
    /// its failure is final. What is recorded is kept, but for what a retry takes back.
    fn set_back(&mut self, segment: &Segment, fault: &Fault, now: u64) -> Option<Vec<Statement>> {
        let (setback, after_ms) = segment.again(fault)?;
        let (run, fence) = (self.order.run_id.clone(), self.order.fence);
        let mut statements = Vec::new();
        if setback == Setback::Error {
            let (entries, upto) = self.record.journal().rewound()?;
            let lines: String = entries.iter().map(|entry| Entry::write(entry) + "\n").collect();
            statements.extend(store::rewrite(&run, fence, &lines));
            let kept: Vec<_> = self.log.lines().iter().filter(|line| line.at <= upto).collect();
            let kept = serde_json::to_string(&kept).unwrap_or_default();
            statements.push(runs::log(&run, fence, &kept));
        }
        statements.extend(workflows::set_back(&SettingBack {
            run: &run,
            fence,
            setback,
            wake_at: segment.wake_at(now.saturating_add(after_ms)),
            code: fault.code.entry().code,
            message: &fault.message,
        }));
        Some(statements)
    }

    /// The outcome could not be stored: it is still answered, and says so.
    pub(super) async fn unstored(
        &mut self,
        desk: &Desk,
        outcome: &Outcome,
        undoable: Option<u64>,
        now: u64,
        error: StoreError,
    ) -> String {
        if let Ok(Some(stored)) = runs::response(&self.db, &self.order.run_id).await {
            return stored;
        }
        let message = "The outcome of a run could not be stored.";
        let fault = Fault::new(Code::RecordLost, message).caused_by(error.0);
        let surface = Some(self.order.surface.as_str());
        desk.take(&fault, &Circumstances { surface, run: Some(&self.order.run_id) });
        // Under a key it is not run again: it was done, and is being answered.
        if self.order.claim.is_some()
            && let Err(error) = self.db.run(&ledger::lose_answer(&self.order.run_id)).await
        {
            worker::console_error!("run {}: its key: {error}", self.order.run_id);
        }
        self.warnings.push(
            "This outcome could not be stored: looking the run up will not show it.".to_owned(),
        );
        self.response(outcome, undoable, now)
    }

    /// Turns the program's tagged value into its plain form, once; what was lost is a warning.
    pub(super) fn with_plain_result(&mut self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Completed(tagged) => match value::plain(&tagged) {
                Ok((plain, lost)) => {
                    self.warnings.extend(lost);
                    self.unfit(&plain).map_or(Outcome::Completed(plain), Outcome::Failed)
                }
                Err(error) => Outcome::Failed(
                    Fault::new(Code::SandboxGone, "The sandbox answered what cannot be read.")
                        .caused_by(error.to_string()),
                ),
            },
            other => other,
        }
    }

    /// The fault of a result that does not fit what its export promises.
    pub(super) fn unfit(&self, plain: &str) -> Option<Fault> {
        let package = self.order.package.as_ref()?;
        let schema = package.result.as_ref()?;
        let result = serde_json::from_str(plain).ok()?;
        let problem = schema::validate(schema, &result, "result").into_iter().next()?;
        let message = format!("The result does not fit its schema: {problem}.");
        Some(Fault::new(Code::RuntimeError, message).with("path", problem.path))
    }

    pub(super) fn response(&self, outcome: &Outcome, undoable: Option<u64>, now: u64) -> String {
        let result = match outcome {
            Outcome::Completed(plain) => RawValue::from_string(plain.clone()).ok(),
            _ => None,
        };
        let mut warnings = self.warnings.clone();
        warnings.extend(self.run.warnings().iter().cloned());
        warnings.extend(self.tools.warnings());
        let fault = outcome.fault();
        let (status, questions, wake_at) = match outcome {
            Outcome::Parked => {
                let (status, wake_at) = self.waits();
                (status, self.people.questions(), wake_at)
            }
            _ => (outcome.status(), Vec::new(), None),
        };
        let view = RunView {
            id: &self.order.run_id,
            status,
            outcome: status.is_final().then_some(status),
            approvals: &questions,
            wake_at,
            result: result.as_deref(),
            error: fault.map(|fault| fault.message.as_str()),
            error_details: fault.map(Fault::to_json),
            rollback_steps: undoable,
            emitted: &self.tools.emitted(),
            logs: self.log.lines(),
            warnings: &warnings,
            timing: self.run.timing(self.order.arrived_at, now),
            surface: self.order.surface,
            label: self.order.label.as_deref(),
            created_at: self.order.arrived_at,
            ended_at: status.is_final().then_some(now),
        };
        serde_json::to_string(&view).unwrap_or_else(|_| "{}".to_owned())
    }
}
