// Rule: every value of tests/cases/codec.json is encoded as it says and read back as what it was; what is no
// data is refused with its path. `src/run/value.rs` passes the same vectors.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Large, Refusal, decodeText, encode } from "../../src/sandbox/harness/codec.js";

const VECTORS = JSON.parse(readFileSync(new URL("../cases/codec.json", import.meta.url), "utf8"));
const LIMIT = 1_048_576;
const ignore = () => {};
// The values are written as expressions, so that one file serves both languages.
const valueOf = (/** @type {any} */ js) => new Function(`return (${js});`)();
/** @type {(run: () => any) => Promise<any>} */
const thrownBy = async (/** @type {any} */ run) => {
  try {
    await run();
  } catch (thrown) {
    return thrown;
  }
  throw new Error("nothing was thrown");
};

for (const { name, js, tagged, refused, path } of VECTORS) {
  if (refused === undefined) {
    test(`carried: ${name}`, async () => {
      const text = await encode(await valueOf(js), LIMIT, ignore);
      assert.equal(text, tagged);
      // Bytes come back as a Uint8Array, whatever class they were.
      const again = await encode(decodeText(text), LIMIT, ignore);
      assert.equal(again, tagged.replace(/,"as":"\w+"/g, ""));
    });
  } else {
    test(`refused: ${name}`, async () => {
      const thrown = await thrownBy(async () => encode(valueOf(js), LIMIT, ignore));
      assert.ok(Refusal.is(thrown), "not refused");
      assert.deepEqual([thrown.refused, thrown.path], [refused, path]);
    });
  }
}

test("what is read back has the classes that it had", () => {
  const back = decodeText(
    '[{"$":"date","v":null},{"$":"map","v":[{"$":"date","v":"1970-01-01T00:00:00.000Z"},1]},{"$":"number","v":"-0"},' +
      '{"$":"error","v":{"name":"RangeError","message":"m","cause":{"$":"bigint","v":"1"},"code":2}},{"$":"regexp","v":"a","flags":"g"},' +
      '{"$":"bytes","v":"AQI=","as":"Float32Array"},{"$":"object","v":{"$":"date","__proto__":{"x":1}}}]',
  );
  assert.ok(back[0] instanceof Date && Number.isNaN(back[0].getTime()));
  assert.ok([...back[1].keys()][0] instanceof Date);
  assert.ok(Object.is(back[2], -0));
  assert.ok(
    back[3] instanceof RangeError &&
      back[3].cause === 1n &&
      /** @type {any} */ (back[3]).code === 2,
  );
  assert.ok(back[4] instanceof RegExp && back[4].flags === "g");
  assert.deepEqual(back[5], new Uint8Array([1, 2]));
  assert.deepEqual(Object.keys(back[6]), ["$", "__proto__"]);
  assert.equal(Object.getPrototypeOf(back[6]), Object.prototype);
});

test("a limit counts bytes of UTF-8, and holds to the byte", () => {
  const fits = (/** @type {any} */ value, /** @type {any} */ limit) => {
    try {
      return typeof encode(value, limit, ignore) === "string";
    } catch (thrown) {
      assert.ok(Large.is(thrown));
      return false;
    }
  };
  assert.ok(fits("x".repeat(98), 100));
  assert.ok(!fits("x".repeat(99), 100));
  assert.ok(fits("é".repeat(49), 100));
  assert.ok(!fits("é".repeat(50), 100));
  assert.ok(fits("\u0000".repeat(16), 98));
  assert.ok(!fits("\u0000".repeat(17), 98));
  assert.ok(fits([1, 2, 3], 7));
  assert.ok(!fits([1, 2, 3], 6));
  assert.ok(!fits(new Uint8Array(100), 100));
  assert.ok(fits({ a: "b", c: [true, null] }, JSON.stringify({ a: "b", c: [true, null] }).length));
});

test("a value that would be endless is found out in time", () => {
  /** @type {any} */
  let wide = [];
  for (let i = 0; i < 60; i++) wide = [wide, wide];
  const began = performance.now();
  for (const value of [
    wide,
    new Array(2 ** 32 - 1),
    { a: new Array(1e9) },
    new Map([["a", wide]]),
  ]) {
    assert.throws(
      () => encode(value, LIMIT, ignore),
      (thrown) => Large.is(thrown),
    );
  }
  assert.ok(performance.now() - began < 20_000);
});

test("promises that reject make the value reject, and none goes unheard", async () => {
  /** @type {any[]} */
  const unheard = [];
  const listen = (/** @type {any} */ reason) => unheard.push(reason);
  process.on("unhandledRejection", listen);
  const late = new Promise((_, reject) => setTimeout(reject, 5, new Error("late")));
  const thrown = await thrownBy(() =>
    encode([Promise.resolve(1), Promise.reject(new Error("soon")), late], LIMIT, ignore),
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off("unhandledRejection", listen);
  assert.equal(thrown.message, "soon");
  assert.deepEqual(unheard, []);
});

test("an instance of a class is told of, with its place", () => {
  /** @type {any[]} */
  const told = [];
  encode(
    {
      items: [
        new (class Point {
          x = 1;
        })(),
      ],
    },
    LIMIT,
    (...args) => told.push(args),
  );
  assert.deepEqual(told, [["Point", "items[0]"]]);
});
