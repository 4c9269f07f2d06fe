//! Whatever comes in whatever order, a run finishes exactly once, each dispatch is answered
//! exactly once, nothing is called after the outcome, and every clock is kept.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::unreachable,
    clippy::unwrap_used,
    reason = "a test ends at the first surprise"
)]

use holdfast::error::{Code, Fault};
use holdfast::run::end::End;
use holdfast::run::limits::Limits;
use holdfast::run::machine::{Command, DRAIN_MS, Event, GRACE_MS, POLL_MS, Run};
use holdfast::run::outcome::{Outcome, Status};
use holdfast::run::surface::Surface;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn limits(budget_ms: u64) -> Limits {
    let mut limits = Limits::of(Surface::Execute).with_budget(budget_ms);
    limits.dispatch_ms = budget_ms.saturating_mul(5);
    limits.dispatches = 50;
    limits.in_flight = 8;
    limits
}

fn started(budget_ms: u64) -> Run {
    let mut run = Run::new(limits(budget_ms), 0);
    assert_eq!(run.on(0, Event::Loaded), []);
    run
}

fn arrive(n: u32) -> Event {
    Event::DispatchArrived { n, path: "notes.add".to_owned(), argument_bytes: 2 }
}

fn back(n: u32) -> Event {
    Event::DispatchReturned { n, fault: None }
}

fn ended(text: &str) -> Event {
    Event::Evaluated(End::read(text))
}

/// Ticks until the run finishes, as its driver would; when, and how.
fn tick_to_the_end(run: &mut Run, mut now: u64) -> (u64, Outcome) {
    for _ in 0..100_000 {
        now = now.saturating_add(run.sleep_ms(now));
        for command in run.on(now, Event::Tick) {
            if let Command::Finish(outcome) = command {
                return (now, *outcome);
            }
        }
    }
    unreachable!("the run never ended")
}

fn code_of(outcome: &Outcome) -> Code {
    outcome.fault().unwrap().code
}

#[test]
fn autonomous_compute_over_the_budget_ends_it_within_the_grace() {
    let mut run = started(1_000);
    let (at, outcome) = tick_to_the_end(&mut run, 0);
    assert_eq!(at, 1_000 + GRACE_MS + DRAIN_MS);
    assert_eq!(code_of(&outcome), Code::BudgetSpent);
    assert!(outcome.fault().unwrap().message.starts_with("Execution timed out after 1s: "));
}

#[test]
fn a_deadlock_that_the_harness_tells_late_is_still_a_deadlock() {
    let late = |now, text| {
        let mut run = started(1_000);
        assert_eq!(run.on(now, Event::Tick), []);
        let commands = run.on(now + 50, ended(text));
        let [Command::Finish(outcome)] = commands.as_slice() else { panic!("{commands:?}") };
        code_of(outcome)
    };
    assert_eq!(late(1_000 + GRACE_MS, r#"{"end":"deadlocked"}"#), Code::Deadlocked);
    let finished = r#"{"end":"finished","value":1}"#;
    assert_eq!(late(1_000 + GRACE_MS, finished), Code::BudgetSpent, "a late value is no value");
}

#[test]
fn a_dispatch_that_outlasts_the_budget_does_not_end_it() {
    let mut run = started(1_000);
    assert_eq!(run.on(10, arrive(0)), [Command::Call { n: 0 }]);
    for now in (10..4_000).step_by(500) {
        assert_eq!(run.on(now, Event::Tick), [], "{now}");
    }
    assert_eq!(run.on(4_000, back(0)), []);
    let (at, _) = tick_to_the_end(&mut run, 4_000);
    assert_eq!(at, 5_000 + GRACE_MS + DRAIN_MS, "one budget after the return, no more");
}

#[test]
fn two_long_dispatches_in_a_row_pass() {
    let mut run = started(1_000);
    run.on(0, arrive(0));
    assert_eq!(run.on(4_500, back(0)), []);
    assert_eq!(run.on(5_000, arrive(1)), [Command::Call { n: 1 }]);
    assert_eq!(run.on(9_400, back(1)), []);
    let commands = run.on(9_500, ended(r#"{"end":"finished","value":2}"#));
    assert_eq!(commands, [Command::Finish(Box::new(Outcome::Completed("2".to_owned())))]);
}

#[test]
fn budgets_reset_and_never_add_up() {
    let mut run = started(1_000);
    run.on(650, arrive(0));
    run.on(700, back(0));
    assert_eq!(run.on(1_350, Event::Tick), [], "650 ms after the return");
    let (at, _) = tick_to_the_end(&mut run, 1_350);
    assert_eq!(at, 1_700 + GRACE_MS + DRAIN_MS);
}

#[test]
fn the_ceiling_ends_what_suspends_for_ever() {
    let mut run = started(200);
    let (mut n, mut now) = (0, 0);
    let outcome = loop {
        run.on(now, arrive(n));
        now += 60;
        if run.on(now, back(n)).iter().any(|command| matches!(command, Command::Refuse { .. })) {
            unreachable!("a returned call is not refused");
        }
        n += 1;
        if n >= 50 || run.is_decided() {
            break tick_to_the_end(&mut run, now).1;
        }
    };
    assert_eq!(code_of(&outcome), Code::CeilingReached);
    assert!(outcome.fault().unwrap().message.contains("ceiling"));
    assert!(outcome.fault().unwrap().message.starts_with("Execution timed out after 2s: "));
}

#[test]
fn a_slow_dispatch_fails_as_a_call_and_grants_a_fresh_budget() {
    let mut run = started(200);
    run.on(0, arrive(0));
    let commands = run.on(1_000, Event::Tick);
    let [Command::Stop { n: 0 }, Command::Refuse { n: 0, fault }] = commands.as_slice() else {
        unreachable!("{commands:?}")
    };
    assert_eq!(fault.code, Code::DispatchTimedOut);
    assert!(fault.message.starts_with("notes.add timed out after 1s"));
    assert_eq!(run.on(1_150, Event::Tick), []);
    let uncaught = r#"{"end":"threw","text":"notes.add timed out","call":0}"#;
    let commands = run.on(1_160, ended(uncaught));
    let [Command::Finish(outcome)] = commands.as_slice() else { unreachable!("{commands:?}") };
    assert_eq!(code_of(outcome), Code::DispatchTimedOut);
}

#[test]
fn a_nested_run_has_its_own_clocks_and_no_limit_of_a_dispatch() {
    let mut run = started(200);
    let path = "packages.invoke".to_owned();
    run.on(0, Event::DispatchArrived { n: 0, path, argument_bytes: 2 });
    assert_eq!(run.on(1_500, Event::Tick), [], "past five budgets, the limit of a dispatch here");
    let (at, outcome) = tick_to_the_end(&mut run, 1_500);
    assert_eq!(code_of(&outcome), Code::CeilingReached);
    assert_eq!(at, 2_000 + DRAIN_MS);
}

#[test]
fn more_calls_in_flight_than_allowed_wait_their_turn() {
    let mut run = started(1_000);
    let mut called = Vec::new();
    for n in 0..20 {
        called.extend(run.on(0, arrive(n)));
    }
    assert_eq!(called.len(), 8);
    assert_eq!(run.on(5, back(3)), [Command::Call { n: 8 }]);
}

#[test]
fn the_fifty_first_call_is_refused_with_what_is_left() {
    let mut run = started(1_000);
    for n in 0..50 {
        run.on(0, arrive(n));
        run.on(0, back(n));
    }
    let commands = run.on(0, arrive(50));
    let [Command::Refuse { n: 50, fault }] = commands.as_slice() else {
        unreachable!("{commands:?}")
    };
    assert_eq!(fault.code, Code::LimitExceeded);
    assert!(fault.message.contains("All 50 dispatches"));
}

#[test]
fn a_hang_up_is_cancelled_and_never_a_timeout() {
    let mut run = started(1_000);
    run.on(0, arrive(0));
    let commands = run.on(500, Event::Aborted("the caller hung up".to_owned()));
    assert!(commands.contains(&Command::Stop { n: 0 }));
    assert!(run.is_decided());
    let commands = run.on(510, ended(r#"{"end":"finished","value":1}"#));
    let [Command::Finish(outcome)] = commands.as_slice() else { unreachable!("{commands:?}") };
    assert_eq!(outcome.status(), Status::Cancelled);
    assert!(!outcome.fault().unwrap().is_timeout());
}

#[test]
fn a_late_call_is_refused() {
    let mut run = started(1_000);
    run.on(5, ended(r#"{"end":"finished"}"#));
    let commands = run.on(6, arrive(0));
    assert!(matches!(commands.as_slice(), [Command::Refuse { n: 0, .. }]), "{commands:?}");
}

#[test]
fn a_texts_likeness_never_decides_the_kind() {
    let mut run = started(1_000);
    let threw = r#"{"end":"threw","text":"Execution timed out after 90s: x","call":null}"#;
    let commands = run.on(5, ended(threw));
    let [Command::Finish(outcome)] = commands.as_slice() else { unreachable!("{commands:?}") };
    assert_eq!(code_of(outcome), Code::RuntimeError);
}

#[test]
fn a_sandbox_that_is_never_made_ends_as_a_creation() {
    let mut run = Run::new(limits(1_000), 0);
    let (at, outcome) = tick_to_the_end(&mut run, 0);
    assert_eq!(at, 20_000);
    assert_eq!(code_of(&outcome), Code::CreateTimedOut);
}

#[test]
fn the_time_of_an_attempt_is_told_apart() {
    let mut run = Run::new(limits(1_000), 100);
    run.on(130, Event::Loaded);
    run.on(200, arrive(0));
    run.on(250, arrive(1));
    run.on(400, back(0));
    run.on(500, back(1));
    run.on(550, ended(r#"{"end":"finished","value":null}"#));
    let timing = run.timing(90, 9_999);
    assert_eq!((timing.queued_ms, timing.loaded_ms), (10, 30));
    assert_eq!((timing.compute_ms, timing.tools_ms, timing.total_ms), (120, 300, 460));
}

#[test]
fn a_run_that_was_to_go_on_never_says_that_nothing_ran() {
    let mut fresh = Run::new(limits(1_000), 100);
    let mut resumed = Run::resumed(limits(1_000), 100, Vec::new());
    let code_of = |commands: Vec<Command>| match commands.into_iter().next() {
        Some(Command::Finish(outcome)) => outcome.fault().map(|fault| fault.code),
        _ => None,
    };
    let late = limits(1_000).create_ms + 100;
    assert_eq!(code_of(fresh.on(late, Event::Tick)), Some(Code::CreateTimedOut));
    assert_eq!(code_of(resumed.on(late, Event::Tick)), Some(Code::SandboxGone));
    let mut refused = Run::resumed(limits(1_000), 100, Vec::new());
    let failed = Event::SandboxFailed(Fault::new(Code::CreateFailed, "no"));
    assert_eq!(code_of(refused.on(110, failed)), Some(Code::SandboxGone));
    let timing = refused.timing(40, 9_999);
    assert_eq!((timing.queued_ms, timing.earlier_ms, timing.total_ms), (0, Some(60), 70));
}

/// One step of a random history.
#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    Arrive(u32),
    Return(usize, bool),
    End(u8),
    Abort,
    Lose,
    Fail,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_u64..700).prop_map(Step::Wait),
        4 => (0_u32..70).prop_map(Step::Arrive),
        4 => (any::<usize>(), any::<bool>()).prop_map(|(which, failed)| Step::Return(which, failed)),
        1 => (0_u8..5).prop_map(Step::End),
        1 => Just(Step::Abort),
        1 => Just(Step::Lose),
        1 => Just(Step::Fail),
    ];
    prop::collection::vec(step, 0..120)
}

const ENDS: [&str; 5] = [
    r#"{"end":"finished","value":{"a":1},"open":[0,1,2]}"#,
    r#"{"end":"threw","text":"boom","call":3}"#,
    r#"{"end":"deadlocked"}"#,
    "not json",
    r#"{"end":"timed_out","logs":[[0,"log","x",1]]}"#,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_history_keeps_the_promises(steps in steps(), loaded in any::<bool>()) {
        let mut run = Run::new(limits(300), 0);
        let mut now = 0_u64;
        let mut arrived: BTreeMap<u32, u32> = BTreeMap::new();
        let mut answers: BTreeMap<u32, u32> = BTreeMap::new();
        let mut running: BTreeSet<u32> = BTreeSet::new();
        let mut finished = 0;
        let take = |commands: Vec<Command>,
                        running: &mut BTreeSet<u32>,
                        answers: &mut BTreeMap<u32, u32>,
                        finished: &mut u32| {
            for command in commands {
                match command {
                    Command::Call { n } => {
                        assert_eq!(*finished, 0, "a call after the end");
                        assert!(running.insert(n), "called twice");
                    }
                    Command::Refuse { n, .. } => *answers.entry(n).or_default() += 1,
                    Command::Stop { n } => assert!(running.remove(&n), "stopped what did not run"),
                    Command::Finish(_) => *finished += 1,
                }
            }
        };
        if loaded {
            take(run.on(now, Event::Loaded), &mut running, &mut answers, &mut finished);
        }
        for step in steps {
            let event = match step {
                Step::Wait(ms) => { now += ms; Event::Tick }
                Step::Arrive(n) => { *arrived.entry(n).or_default() += 1; arrive(n) }
                Step::Return(which, failed) => {
                    let Some(n) = running.iter().nth(which % running.len().max(1)).copied() else {
                        continue;
                    };
                    running.remove(&n);
                    *answers.entry(n).or_default() += 1;
                    let fault = failed.then(|| Fault::new(Code::ToolFailed, "no"));
                    Event::DispatchReturned { n, fault }
                }
                Step::End(which) => ended(ENDS[usize::from(which)]),
                Step::Abort => Event::Aborted("asked".to_owned()),
                Step::Lose => Event::RecordLost("d1".to_owned()),
                Step::Fail => Event::SandboxFailed(Fault::new(Code::SandboxGone, "gone")),
            };
            take(run.on(now, event), &mut running, &mut answers, &mut finished);
            prop_assert!((1..=POLL_MS).contains(&run.sleep_ms(now)));
        }
        // Left alone it ends by itself: creation, budget, dispatch limit or ceiling.
        for _ in 0..30_000 {
            if finished > 0 { break; }
            now += run.sleep_ms(now);
            take(run.on(now, Event::Tick), &mut running, &mut answers, &mut finished);
        }
        prop_assert_eq!(finished, 1);
        prop_assert_eq!(run.on(now, ended(ENDS[0])), []);
        prop_assert_eq!(run.on(now + 10_000, Event::Tick), []);
        prop_assert!(running.is_empty(), "still running: {:?}", running);
        for (n, times) in &arrived {
            prop_assert_eq!(answers.get(n), Some(times), "dispatch {}", n);
        }
        let timing = run.timing(0, now);
        prop_assert!(timing.loaded_ms + timing.compute_ms + timing.tools_ms <= timing.total_ms);
    }
}
