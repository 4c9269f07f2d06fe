// One at a time, between processes: two clones that set themselves up at once share one cache.
//
// The lock only saves work. What is made under it appears by an atomic rename, so that a lock
// taken over wrongly costs a second build and nothing else.
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { cacheDir } from "./places.mjs";

const POLL_MS = 500;

/** How often an owner says that it lives. */
const BEAT_MS = 5_000;

/** A lock not touched for so long has no owner: twelve beats missed. */
const SILENT_MS = 60_000;

/**
 * Runs `work` while holding the lock `name`. A lock whose owner is gone or silent is taken over.
 *
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(name, work) {
  const file = path.join(cacheDir(), "locks", `${name}.lock`);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const mine = `${process.pid} ${randomUUID()}`;
  let told = false;
  while (!take(file, mine)) {
    if (isAbandoned(file)) {
      fs.rmSync(file, { force: true });
      continue;
    }
    if (!told) console.log(`waiting for another set-up that holds ${file}`);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const beat = setInterval(() => touch(file), BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    if (read(file) === mine) fs.rmSync(file, { force: true });
  }
}

/**
 * @param {string} file
 * @param {string} mine
 */
function take(file, mine) {
  try {
    fs.writeFileSync(file, mine, { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/**
 * @param {string} file
 * @returns {string | undefined}
 */
function read(file) {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return undefined; // released in this very moment
  }
}

/** @param {string} file */
function touch(file) {
  const now = new Date();
  try {
    fs.utimesSync(file, now, now);
  } catch {
    // Taken over while this process was stopped; see the head of the file for what that costs.
  }
}

/** @param {string} file */
function isAbandoned(file) {
  const touched = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (touched === undefined) return false;
  const owner = Number.parseInt(read(file) ?? "", 10);
  return (Number.isInteger(owner) && !isAlive(owner)) || Date.now() - touched > SILENT_MS;
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
