//! How fast the rules of a run are: a million events of the state machine, in events a second, and
//! the codec of values, in bytes a second.
#![expect(missing_docs, reason = "criterion's macros make functions without")]
#![expect(clippy::expect_used, reason = "a bench ends at the first surprise")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use holdfast::run::end::{End, EndKind};
use holdfast::run::limits::Limits;
use holdfast::run::machine::{Command, Event, Run};
use holdfast::run::surface::Surface;
use holdfast::run::value;
use serde_json::{Value, json};

const EVENTS: u64 = 1_000_000;

/// Of each run: what begins and ends it comes on top.
const DISPATCHES: u32 = 100;

/// One run from its start to its outcome; how many events it was told.
fn one_run(limits: &Limits) -> u64 {
    let mut run = Run::new(limits.clone(), 0);
    let mut told = 0_u64;
    let mut now = 0_u64;
    let mut tell = |event: Event| {
        told = told.saturating_add(1);
        now = now.saturating_add(1);
        run.on(now, event)
    };
    tell(Event::Loaded);
    for n in 0..DISPATCHES {
        let path = "storage.get".to_owned();
        let commands = tell(Event::DispatchArrived { n, path, argument_bytes: 40 });
        assert_eq!(commands, [Command::Call { n }]);
        tell(Event::DispatchReturned { n, fault: None });
        tell(Event::Tick);
    }
    let end = End {
        kind: EndKind::Finished("1".to_owned()),
        events: Vec::new(),
        logs: Vec::new(),
        warnings: Vec::new(),
        open: Vec::new(),
    };
    let commands = tell(Event::Evaluated(end));
    assert!(matches!(commands.as_slice(), [Command::Finish(_)]));
    told
}

fn machine(c: &mut Criterion) {
    let limits = Limits::of(Surface::Execute);
    let mut group = c.benchmark_group("machine");
    group.sample_size(10);
    group.throughput(Throughput::Elements(EVENTS));
    group.bench_function("a million events", |b| {
        b.iter(|| {
            let mut told = 0_u64;
            while told < EVENTS {
                told = told.saturating_add(one_run(black_box(&limits)));
            }
            told
        });
    });
    group.finish();
}

fn codec(c: &mut Criterion) {
    let rows: Vec<Value> = (0..2_000)
        .map(|n| {
            json!({
                "id": n, "name": format!("row {n}"), "open": n % 3 == 0, "score": 0.5, "tags": ["a", "b"],
                "at": { "$": "date", "v": "2026-01-01T00:00:00.000Z" },
            })
        })
        .collect();
    let tagged = json!(rows).to_string();
    let row = json!({ "text": "x\u{2713}\n".repeat(50), "numbers": [1, 2.5, -3], "$": "own" });
    let plain = Value::from(vec![row; 2_000]).to_string();
    let mut group = c.benchmark_group("codec");
    for (name, text) in [("to the plain form", &tagged), ("from the plain form", &plain)] {
        group.throughput(Throughput::Bytes(u64::try_from(text.len()).expect("a length")));
        let convert = |text: &str| {
            if name == "to the plain form" {
                value::plain(text).map(|(plain, _)| plain)
            } else {
                value::tagged(text)
            }
        };
        group.bench_function(name, |b| b.iter(|| convert(black_box(text)).expect("a value")));
    }
    group.finish();
}

criterion_group!(benches, machine, codec);
criterion_main!(benches);
