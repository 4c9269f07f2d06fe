// Programs that try not to end. Each is the body of a program.
export const MUST_END = {
  while: "while (true) {}",
  "while, no braces": "while (true);",
  for: "for (;;);",
  do: "do {} while (true)",
  "for, body in the header": "for (let i = 0; ; i++, i--);",
  "for of, endless generator": "function* g() { while (true) yield 1; } for (const x of g());",
  "for of, iterator by hand":
    "for (const x of { [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) });",
  "for of over an array that grows":
    "const a = [1]; for (const x of a) { a.push(1); a.length = 2; a.shift(); a.unshift(0); if (a.length < 1) break; a[2] = 1; a.splice(0, 0); for (const y of a) if (y > 1) break; while (a.length > 3) a.pop(); for (;;); }",
  "labelled continue": "outer: while (true) { while (true) { continue outer; } }",
  "a short loop that writes its variable": "for (let i = 0; i < 5; i++) { [i] = [0]; }",
  "nested loops that are each under a chunk":
    "while (true) for (let i = 0; i < 1000; i++) for (let j = 0; j < 1000; j++) for (let k = 0; k < 1000; k++);",
  "loops left by return":
    "function f(a) { for (let i = 0; ; i++) if (i > 900) return i; } while (true) f();",
  "loops left by throw":
    "function f() { for (let i = 0; ; i++) if (i > 900) throw 1; } while (true) try { f(); } catch {}",
  recursion: "function f() { f(); } while (true) try { f(); } catch {}",
  "exponential recursion": "function f(n) { if (n) { f(n - 1); f(n - 1); } } f(200);",
  "exponential recursion in default parameters":
    "function f(n, a = n && f(n - 1), b = n && f(n - 1)) {} f(200);",
  "exponential recursion in fields":
    "let d = 0; class A { a = d < 200 && (d++, new A()); b = d < 200 && (d++, new A()); c = d--; } for (d = 0; ;) new A();",
  "exponential recursion in arrows": "const f = (n) => n && f(n - 1) + f(n - 1); f(200);",
  "exponential recursion in getters":
    "const o = { n: 0, get x() { if (this.n > 200) return 1; this.n++; const r = this.x + this.x; this.n--; return r; } }; o.x;",
  "exponential recursion in valueOf":
    "const mk = (n) => ({ valueOf: () => n ? mk(n - 1) + mk(n - 1) : 1 }); +mk(200);",
  "exponential recursion in finally":
    "function f(n) { try { if (n) f(n - 1); } finally { if (n) f(n - 1); } } f(200);",
  "mutual recursion of functions that are only called":
    "function a(n) { if (n) { b(n - 1); b(n - 1); } } function b(n) { if (n) { a(n - 1); a(n - 1); } } a(200);",
  "proxy trap":
    "const p = new Proxy({}, { get: (t, k, r) => { while (true) try { void r.x; } catch {} } }); p.x;",
  "endless await": "for (;;) await null;",
  "endless await, while": "while (await true) {}",
  "endless for await": "async function* g() { for (;;) yield 1; } for await (const x of g());",
  "mutual recursion through promises":
    "const a = () => Promise.resolve().then(b), b = () => Promise.resolve().then(a); await a();",
  "async recursion": "const f = async () => { await null; return f(); }; await f();",
  "a thenable that answers with itself": "const o = { then(r) { r(o); } }; await o;",
  "queueMicrotask chain": "const f = () => queueMicrotask(f); f(); await new Promise(() => {});",
  "timer chain": "const f = () => setTimeout(f, 0); f(); await new Promise(() => {});",
  "timer chain that starts when the time is up":
    "try { for (;;); } catch { const f = () => setTimeout(f, 0); f(); await new Promise(() => {}); }",
  "swallow in a loop": "while (true) { try { while (true); } catch {} }",
  "swallow in a loop, three deep":
    "while (1) try { while (1) try { while (1) try { while (1); } catch {} } catch {} } catch {}",
  "finally that goes on": "while (true) { try { for (;;); } finally { continue; } }",
  "finally that returns": "function f() { try { for (;;); } finally { return f(); } } f();",
  "finally in a generator":
    "function* g() { try { while (true) yield 1; } finally { while (true); } } for (const x of g()) { for (;;); }",
  "returns a value after swallowing": "try { for (;;); } catch {} return 'escaped';",
  "returns a value from finally": "try { for (;;); } finally { return 'escaped'; }",
  "swallowed by a promise":
    "await new Promise(() => { for (;;); }).catch(() => {}); return 'escaped';",
  "swallowed by allSettled":
    "await Promise.allSettled([(async () => { for (;;); })()]); return 'escaped';",
  "swallowed by an iterator's return":
    "const it = { [Symbol.iterator]: () => ({ next: () => ({}), return() { for (;;); } }) }; for (const x of it) break; return 'escaped';",
  "catastrophe in the handler":
    "process: try { for (;;); } catch (e) { e.message = 'fake'; e.stack = 'fake'; }",
  "spread of an endless generator": "function* g() { while (true) yield 1; } Math.max(...g());",
  "Array.from over an endless iterator":
    "Array.from({ [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) });",
  "destructuring a rest that never ends": "const [...a] = (function* () { for (;;) yield 0; })();",
  "yield* without end": "function* g() { yield 1; yield* g(); } for (const x of g());",
  "yield* of an endless iterator":
    "function* g() { yield* { [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) }; } for (const x of g());",
  "Map of an endless iterator":
    "new Set({ [Symbol.iterator]: () => ({ next: () => ({ done: false, value: 1 }) }) });",
  comparator: "const a = Array.from({ length: 1e6 }, (_, i) => i); while (true) a.sort(() => 0);",
  "callbacks over a huge length": "Array.from({ length: 4e9 }, () => 0);",
  "callbacks, mutual":
    "const f = () => [1, 2].forEach(g), g = () => { try { [1, 2].forEach(f); } catch {} }; f();",
  replacer: "while (true) try { JSON.stringify([1], () => [1]); } catch {}",
  "replace callback": "while (true) 'abc'.replace(/./g, () => 'x');",
  toJSON:
    "const mk = (n) => ({ toJSON: () => n ? [mk(n - 1), mk(n - 1)] : 1 }); JSON.stringify(mk(200));",
  "Symbol.species, accessors":
    "class A extends Array { static get [Symbol.species]() { for (;;); } } new A(1, 2).map((x) => x);",
  "class static block": "class A { static { for (;;); } }",
  "computed key": "let d = 0; const C = () => class { [(() => { for (;;); })()] = 1 }; C();",
  "decorated Date.now": "Date.now = () => 0; globalThis.Date = null; while (true);",
  "Error made unusable": "globalThis.Error = null; Error2: while (true);",
  prepareStackTrace:
    "Error.prepareStackTrace = () => { for (;;); }; Error.stackTraceLimit = Infinity; while (true);",
  "work that turns heavy":
    "for (let i = 0; i < 5e6; i++); const rows = Array.from({ length: 2000 }, (_, i) => ({ i })); for (;;) JSON.parse(JSON.stringify(rows));",
  "work that turns heavy, with short loops left by return":
    "const s = 'x'.repeat(20000); const f = () => { for (let i = 0; i < 100; i++) if (s.indexOf('y' + i) >= 0 || i > 90) return i; }; for (let i = 0; i < 5e6; i++); for (;;) f();",
  "waits and computes":
    "for (;;) { await new Promise((r) => setTimeout(r, 1)); for (let i = 0; i < 1e5; i++); }",
  "string comparison":
    "const a = 'x'.repeat(1e5) + 'a', b = 'x'.repeat(1e5) + 'b'; a[0]; b[0]; for (let n = 0; ;) if (a === b) n++;",
};

/** More forms that a loop or a recursion can take. */
export const WITHOUT_END = {
  "a class that makes itself in a computed key":
    "let C = () => class { [C()] = 1 }; while (true) try { C(); } catch {}",
  "a class that makes itself in a static field":
    "function f() { return class { static a = f(); }; } while (true) try { f(); } catch {}",
  "a setter": "const o = { set x(v) { this.x = v; } }; while (true) try { o.x = 1; } catch {}",
  "a tagged template": "function tag() { return tag``; } while (true) try { tag``; } catch {}",
  "a leaf that is called for ever":
    "function leaf(x) { return x + 1; } let n = 0; for (;;) n = leaf(n);",
  "leaves that call through a parameter":
    "function a(f) { f(f); } while (true) try { a(a); } catch {}",
  "an enum's initialiser": "enum E { A = (() => { for (;;); })() }",
  "a parameter property":
    "class A { constructor(private a = (() => { for (;;); })()) {} } new A();",
  "types around a loop":
    "const xs: number[] = [1]; for (const x of xs as number[]) { xs.push(x!); xs.shift(); while (<boolean>true); }",
  "a do with a type": "do ; while (true as boolean)",
  "an object's accessor in a for": "for (const o = { get a() { return true; } }; o.a; );",
  "an async generator that is not read":
    "async function* g() { for (;;) yield 1; } for await (const _ of g()) ;",
};
