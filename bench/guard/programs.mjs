// What the guard's cost is measured on: programs in the way models write them, each some tens of
// milliseconds of compute, and the loop that costs most.

/** Loops around objects, strings and calls. @type {Record<string, string>} */
export const ORDINARY = {
  "rows grouped and summed": `
    const rows = [];
    for (let i = 0; i < 20000; i++) {
      rows.push({ id: i, team: "team-" + (i % 37), hours: (i * 7) % 13, open: i % 3 === 0 });
    }
    let byTeam = {};
    for (let week = 0; week < 40; week++) {
      byTeam = {};
      for (const row of rows) {
        const group = (byTeam[row.team] ??= { count: 0, hours: 0, open: [] });
        group.count += 1;
        group.hours += row.hours + week;
        if (row.open) group.open.push(row.id);
      }
    }
    return Object.entries(byTeam)
      .map(([team, { count, hours, open }]) => ({ team, count, average: hours / count, open: open.length }))
      .sort((a, b) => b.average - a.average)
      .slice(0, 5);`,

  "a CSV file parsed": `
    const lines = [];
    for (let i = 0; i < 60000; i++) lines.push(\`\${i},"Name, \${i}",\${(i * 31) % 1000},2026-01-\${String((i % 28) + 1).padStart(2, "0")}\`);
    function parseLine(line) {
      const cells = [];
      let cell = "";
      let quoted = false;
      for (let i = 0; i < line.length; i++) {
        const character = line[i];
        if (character === '"') quoted = !quoted;
        else if (character === "," && !quoted) {
          cells.push(cell);
          cell = "";
        } else cell += character;
      }
      cells.push(cell);
      return cells;
    }
    let total = 0;
    const days = {};
    for (const line of lines) {
      const [, name, amount, day] = parseLine(line);
      total += Number(amount) + name.length;
      days[day] = (days[day] ?? 0) + 1;
    }
    return { total, days: Object.keys(days).length };`,

  "lists mapped, filtered and reduced": `
    const items = Array.from({ length: 60000 }, (_, i) => ({ price: (i * 17) % 100, quantity: (i % 5) + 1, tag: i % 7 }));
    let revenue = 0;
    for (let month = 0; month < 6; month++) {
      revenue += items
        .filter((item) => item.tag !== month)
        .map((item) => ({ ...item, amount: item.price * item.quantity }))
        .reduce((sum, item) => sum + item.amount, 0);
    }
    return revenue;`,

  "records sorted by two keys": `
    let seed = 42;
    const random = () => (seed = (seed * 16807) % 2147483647);
    const people = Array.from({ length: 40000 }, () => ({ name: "n" + (random() % 500), age: random() % 90 }));
    people.sort((a, b) => a.name.localeCompare(b.name, "en") || a.age - b.age);
    return people.slice(0, 3);`,

  "a class with methods": `
    class Account {
      constructor(owner) {
        this.owner = owner;
        this.balance = 0;
        this.history = [];
      }
      deposit(amount) {
        if (amount <= 0) throw new RangeError("amount must be positive");
        this.balance += amount;
        this.history.push({ kind: "deposit", amount });
      }
      withdraw(amount) {
        if (amount > this.balance) throw new RangeError("insufficient funds");
        this.balance -= amount;
        this.history.push({ kind: "withdraw", amount });
      }
      get summary() {
        return \`\${this.owner}: \${this.balance} after \${this.history.length}\`;
      }
    }
    const accounts = Array.from({ length: 50 }, (_, i) => new Account("owner-" + i));
    let refused = 0;
    for (let i = 0; i < 300000; i++) {
      const account = accounts[i % accounts.length];
      try {
        if (i % 3 === 0) account.withdraw((i % 50) + 1);
        else account.deposit((i % 20) + 1);
      } catch (error) {
        refused += 1;
      }
    }
    return { first: accounts[0].summary, refused };`,

  "words counted": `
    const words = "the quick brown fox jumps over the lazy dog while seven sleepy cats watch".split(" ");
    let text = "";
    for (let i = 0; i < 300000; i++) text += words[(i * 7 + (i % 5)) % words.length] + (i % 11 === 0 ? ". " : " ");
    const counts = new Map();
    for (const sentence of text.split(". ")) {
      for (const word of sentence.toLowerCase().split(/\\s+/)) {
        if (word === "") continue;
        counts.set(word, (counts.get(word) ?? 0) + 1);
      }
    }
    return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 3);`,

  "JSON changed and written": `
    const document = { orders: Array.from({ length: 2000 }, (_, i) => ({ id: i, lines: [{ sku: "s" + i, n: i % 9 }, { sku: "t" + i, n: 1 }], note: "note " + i })) };
    let bytes = 0;
    for (let round = 0; round < 15; round++) {
      const copy = JSON.parse(JSON.stringify(document));
      for (const order of copy.orders) {
        order.total = 0;
        for (const line of order.lines) order.total += line.n;
        if (order.total > 5) delete order.note;
      }
      bytes += JSON.stringify(copy).length;
    }
    return bytes;`,

  "a tree walked": `
    const build = (depth, width) =>
      depth === 0
        ? { name: "leaf", size: width, children: [] }
        : { name: "dir" + depth, size: 0, children: Array.from({ length: width }, () => build(depth - 1, width)) };
    const tree = build(7, 5);
    function walk(node, path, visit) {
      visit(node, path);
      for (const child of node.children) walk(child, path + "/" + child.name, visit);
    }
    let files = 0;
    let longest = 0;
    for (let round = 0; round < 2; round++) {
      walk(tree, "", (node, path) => {
        if (node.children.length === 0) files += 1;
        if (path.length > longest) longest = path.length;
      });
    }
    return { files, longest };`,
};

/** A loop that does nothing else. @type {Record<string, string>} */
export const BARE = {
  "a bare arithmetic loop, 10^8": `
    let sum = 0;
    for (let i = 0; i < 100000000; i++) sum = (sum + i * 3) & 0xffff;
    return sum;`,
};
