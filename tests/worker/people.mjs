// People and agents of a test: a principal of its own with rules, a token that runs programs and one
// that decides.
import assert from "node:assert/strict";

export const RULES = [
  { pattern: "storage.delete", action: "ask" },
  {
    pattern: "storage.set",
    when: [{ at: "/key", matches: "gated*" }],
    action: "ask",
    note: "somebody looks",
  },
  { pattern: "storage.set", when: [{ at: "/key", equals: "never" }], action: "block" },
];

let made = 0;

/**
 * A principal of its own with rules, a token that runs programs, one that decides and one that changes
 * the rules.
 *
 * @param {any} worker
 * @param {unknown[]} [rules]
 */
export async function principal(worker, rules = RULES) {
  const name = `p${++made}-${Date.now()}`;
  /** @param {string[]} scopes */
  const token = async (scopes) => {
    const answer = await worker.json("/v1/tokens", { label: "t", principal: name, scopes });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body.token;
  };
  const agent = await token(["execute", "runs"]);
  const person = await token(["approve"]);
  const keeper = await token(["policies"]);
  const put = await worker.json("/v1/policies", { rules }, { method: "PUT", token: keeper });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  return {
    name,
    agent,
    person,
    rules: keeper,
    /** @param {unknown} body @param {string} [query] */
    async run(body, query = "") {
      const program = typeof body === "string" ? { code: body } : body;
      const answer = await worker.json(`/v1/runs${query}`, program, { token: agent });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    },
    /** @param {string} id @param {string} decision @param {string} [reason] */
    decide: (id, decision, reason) =>
      worker.json(`/v1/approvals/${id}`, { decision, reason }, { token: person }),
    /** @param {string} id @param {number} [wait] in seconds */
    async resume(id, wait = 20) {
      const place = `/v1/runs/${id}/resume?wait=${wait}`;
      const answer = await worker.json(place, undefined, { method: "POST", token: agent });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    },
    /** @param {string} [state] */
    async approvals(state = "open") {
      const answer = await worker.json(`/v1/approvals?state=${state}`, undefined, {
        token: person,
      });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body.approvals;
    },
  };
}
