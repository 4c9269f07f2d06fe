// Rule: no type, error or ambient name of ours equals a built-in of Rust, JavaScript or the
// platform: who catches `TimeoutError` must never have to ask whose. Checked over all of src.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { ROOT } from "../../scripts/lib/places.mjs";
import { start } from "./harness.mjs";

/** What Rust's prelude brings, what `std` is known for by sight, and its errors. */
const RUST = [
  ..."Box Option Some None Result Ok Err String Vec Send Sync Sized Copy Drop Fn FnMut FnOnce".split(
    " ",
  ),
  ..."AsMut AsRef From Into TryFrom TryInto Default Iterator IntoIterator Extend ToOwned".split(
    " ",
  ),
  ..."DoubleEndedIterator ExactSizeIterator FromIterator ToString Clone Eq Ord PartialEq".split(
    " ",
  ),
  ..."PartialOrd Hash Debug Display Future IntoFuture Pin Poll Waker Error ErrorKind".split(" "),
  ..."Rc Arc Weak Cell RefCell Ref RefMut Mutex RwLock Once OnceCell OnceLock Barrier".split(" "),
  ..."Duration Instant SystemTime SystemTimeError Path PathBuf OsStr OsString".split(" "),
  ..."SendError RecvError TryRecvError RecvTimeoutError HashMap HashSet BTreeMap BTreeSet".split(
    " ",
  ),
  ..."VecDeque BinaryHeap LinkedList Cow Any TypeId LayoutError AddrParseError VarError".split(" "),
  ..."ParseIntError ParseFloatError ParseBoolError ParseCharError CharTryFromError Utf8Error".split(
    " ",
  ),
  ..."FromUtf8Error FromUtf16Error TryFromIntError TryFromSliceError BorrowError NulError".split(
    " ",
  ),
  ..."BorrowMutError PoisonError TryLockError AccessError".split(" "),
];

/** Names of errors that platforms use without a class of the name. */
const DOM_ERRORS = [
  ..."AbortError TimeoutError NetworkError NotSupportedError QuotaExceededError DataError".split(
    " ",
  ),
  ..."DataCloneError EncodingError InvalidAccessError InvalidCharacterError SyntaxError".split(" "),
  ..."InvalidModificationError InvalidStateError NotAllowedError NotFoundError NotReadableError".split(
    " ",
  ),
  ..."OperationError ReadOnlyError SecurityError TransactionInactiveError TypeMismatchError".split(
    " ",
  ),
  ..."UnknownError VersionError WrongDocumentError HierarchyRequestError IndexSizeError".split(" "),
  ..."NamespaceError InUseAttributeError ConstraintError URLMismatchError SystemError".split(" "),
];

/** Modules that speak of another's types by those types' own names. */
const BINDINGS = /\bpub mod sys \{[^]*?\n\}/g;

/**
 * @param {string} folder
 * @param {string} ending
 */
function sources(folder, ending) {
  return fs
    .readdirSync(path.join(ROOT, folder), { recursive: true })
    .map((name) => path.join(folder, String(name)))
    .filter((name) => name.endsWith(ending))
    .map((file) => ({ file, text: fs.readFileSync(path.join(ROOT, file), "utf8") }));
}

/** @param {RegExp} pattern @param {string} text */
const matches = (pattern, text) => [...text.matchAll(pattern)].map(([, name]) => String(name));

/** @typedef {{name: string, file: string}} Name */

/**
 * Rust's types, JavaScript's classes, the errors that programs see, and the ambient names.
 *
 * @returns {{rust: Name[], javascript: Name[], errors: Name[], ambient: Name[]}}
 */
function namesOfOurs() {
  const found = { rust: [], javascript: [], errors: [], ambient: [] };
  /** @type {(into: Name[], names: string[], file: string) => void} */
  const add = (into, names, file) => into.push(...names.map((name) => ({ name, file })));
  for (const { file, text } of sources("src", ".rs")) {
    const own = text.replaceAll(BINDINGS, "");
    const types = matches(/^\s*pub(?:\([^)]*\))? (?:struct|enum|trait|type|union) (\w+)/gm, own);
    add(found.rust, types, file);
    add(found.errors, types.filter(isError), file);
    add(found.errors, matches(/json!\("(\w+(?:Error|Exception))"\)/g, own), file);
    add(found.ambient, matches(/"(\w+)"/g, AMBIENT.exec(own)?.[1] ?? ""), file);
  }
  for (const { file, text } of sources("src", ".js")) {
    const classes = matches(/^(?:export )?(?:default )?class (\w+)/gm, text);
    add(found.javascript, classes, file);
    add(found.errors, classes.filter(isError), file);
  }
  return found;
}

/** Where the ambient names are listed. */
const AMBIENT = /AMBIENT: &\[&str\] =\s*&\[([^\]]*)\]/;

/** @param {string} name */
const isError = (name) => /(?:Error|Exception)$/.test(name);

test("no name of ours is a built-in's", async (t) => {
  const w = await start();
  t.after(() => w.stop());
  const inSandbox = await w.execute(`
    const names = new Set();
    for (let at = globalThis; at !== null; at = Object.getPrototypeOf(at)) {
      for (const name of Object.getOwnPropertyNames(at)) names.add(name);
    }
    return [...names];`);
  /** @type {string[]} what a program finds in its realm, besides what we lend it by parameters */
  const platform = inSandbox.result;
  assert.ok(platform.includes("AbortController") && platform.includes("Promise"));
  const javascript = [...DOM_ERRORS, ...platform, ...Object.getOwnPropertyNames(globalThis)];

  // A type is seen by its own language only; an error and an ambient name by everybody.
  const ours = namesOfOurs();
  const held = /** @type {const} */ ([
    [ours.rust, RUST, "Fault"],
    [ours.javascript, javascript, "Attempt"],
    [ours.errors, [...RUST, ...javascript], "ToolError"],
    [ours.ambient, [...RUST, ...javascript], "tools"],
  ]);
  for (const [names, builtIns, known] of held) {
    assert.ok(
      names.some(({ name }) => name === known),
      `the check does not see ${known}: it looks in the wrong places`,
    );
    const taken = names.filter(({ name }) => builtIns.includes(name));
    assert.deepEqual(
      taken.map(({ name, file }) => `${name} in ${file}`),
      [],
    );
  }
});
