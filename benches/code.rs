//! How fast programs are prepared, in bytes a second. The goal is 5 MB/s natively.
#![expect(missing_docs, reason = "criterion's macros make functions without")]
#![expect(clippy::expect_used, reason = "a test ends at the first surprise")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use holdfast::code::{Options, prepare};

/// Code as agents write it: types, loops, closures, classes, tools.
const ORDINARY: &str = include_str!("../bench/programs/ordinary.ts");

fn prepared(c: &mut Criterion) {
    let program = format!("{{{ORDINARY}}}\n").repeat(60);
    let mut group = c.benchmark_group("prepare");
    group.throughput(Throughput::Bytes(u64::try_from(program.len()).expect("a length")));
    for (name, guard) in [("with the guard", true), ("without", false)] {
        let options = Options { guard, ambient: &["tools", "params", "console"] };
        group.bench_function(name, |b| {
            b.iter(|| prepare(black_box(&program), &options).expect("a program"));
        });
    }
    group.finish();

    let mut group = c.benchmark_group("a small program");
    group.throughput(Throughput::Bytes(u64::try_from(ORDINARY.len()).expect("a length")));
    let options = Options { guard: true, ambient: &["tools", "params", "console"] };
    group.bench_function("with the guard", |b| {
        b.iter(|| prepare(black_box(ORDINARY), &options).expect("a program"));
    });
    group.finish();
}

criterion_group!(benches, prepared);
criterion_main!(benches);
