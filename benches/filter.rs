//! How fast events are judged: a real SDK's event with 50 frames, noise and not, and one whose
//! bulk stands in `extra`. The aim is 100 MB/s natively.
#![expect(missing_docs, reason = "criterion's macros make functions without")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use holdfast::report::filter::is_noise;
use serde_json::{Value, json};

fn event(message: &str, extra_bytes: usize) -> Vec<u8> {
    let frames: Vec<Value> = (0..50)
        .map(|n| {
            json!({
                "filename": format!("app:///src/handlers/route-{n}.js"), "function": format!("handle{n}"),
                "lineno": n, "colno": 7, "in_app": true, "context_line": "  await db.prepare(\"x\").run();",
                "pre_context": ["const a = 1;", "", "try {"], "post_context": ["}", "catch (e) {", "}"],
            })
        })
        .collect();
    json!({
        "event_id": "64ea681706dc2033baa6f3fc62f56f4e", "timestamp": 1_767_225_600, "platform": "javascript",
        "breadcrumbs": [{ "category": "console", "message": "D1 \"write\" failed\n" }],
        "extra": { "blob": "x\u{2713}".repeat(extra_bytes.div_euclid(4)) },
        "exception": { "values": [{ "type": "Error", "value": message, "stacktrace": { "frames": frames } }] },
    })
    .to_string()
    .into_bytes()
}

fn filter(c: &mut Criterion) {
    let timeout = "Execution timed out after 90s: Holdfast stopped watching the sandbox.";
    let cases = [
        ("noise, 50 frames", event(timeout, 0)),
        ("a fault, 50 frames", event("D1 write failed", 0)),
        ("a fault, 900 kB of extra", event("D1 write failed", 900_000)),
    ];
    let mut group = c.benchmark_group("filter");
    for (name, payload) in cases {
        group.throughput(Throughput::Bytes(u64::try_from(payload.len()).unwrap_or(u64::MAX)));
        group.bench_function(name, |b| b.iter(|| is_noise(black_box(&payload))));
    }
    group.finish();
}

criterion_group!(benches, filter);
criterion_main!(benches);
