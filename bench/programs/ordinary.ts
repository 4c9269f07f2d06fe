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
