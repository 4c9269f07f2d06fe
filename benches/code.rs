//! How fast programs are prepared, in bytes a second. The goal is 5 MB/s natively.
#![expect(missing_docs, reason = "criterion's macros make functions without")]
#![expect(clippy::expect_used, reason = "a test ends at the first surprise")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use holdfast::code::{Options, prepare};

/// Code as agents write it: types, loops, closures, classes, tools.
const ORDINARY: &str = r##"
interface Row { id: number; name: string; tags?: string[] }
type ByTag = Record<string, Row[]>;

class Collector<T extends Row> {
  private rows: T[] = [];
  constructor(private readonly limit: number) {}
  add(row: T): void { if (this.rows.length < this.limit) this.rows.push(row); }
  get all(): readonly T[] { return this.rows; }
}

async function fetchPage(page: number): Promise<Row[]> {
  const reply = await tools.github.issues({ page, per_page: 100, state: "open" });
  return (reply.items as Row[]).map((item) => ({ id: item.id, name: `${item.name} (#${item.id})`, tags: item.tags }));
}

const collector = new Collector<Row>(500);
for (let page = 1; page <= 5; page++) {
  const rows = await fetchPage(page);
  if (rows.length === 0) break;
  for (const row of rows) collector.add(row);
}

const byTag: ByTag = {};
for (const row of collector.all) {
  for (const tag of row.tags ?? ["none"]) (byTag[tag] ??= []).push(row);
}
let total = 0;
for (let i = 0; i < collector.all.length; i++) {
  total += collector.all[i]!.id % 7;
}
try {
  await tools.slack.post({ channel: "#triage", text: Object.entries(byTag).map(([tag, rows]) => `${tag}: ${rows.length}`).join("\n") });
} catch (error: unknown) {
  console.warn("not posted", (error as Error).message);
}
"##;

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
