// Who is asking: the user, the account, the token, the account's workers.dev name.
import { ACCOUNT, Refused, json, paged } from "./api.mjs";

const account = { id: ACCOUNT, name: "Stand-in", type: "standard" };

/**
 * The account, and as many more as the settings say.
 *
 * @param {import("./cloud.mjs").State} state
 */
function accountsOf({ accounts }) {
  const others = Array.from({ length: accounts - 1 }, (_, index) => ({
    ...account,
    id: `0000000000000000000000000000${String(index + 1).padStart(4, "0")}`,
    name: `Other ${index + 1}`,
  }));
  return [account, ...others];
}

/** @type {import("./cloud.mjs").Endpoint[]} */
const endpoints = [
  ["GET", "/user", () => ({ id: "stand-in", email: "stand-in@example.com" })],
  ["GET", "/user/tokens/verify", () => ({ id: "stand-in", status: "active" })],
  ["GET", "/accounts/:account/tokens/verify", () => ({ id: "stand-in", status: "active" })],
  ["GET", "/accounts", (call) => paged(call, accountsOf(call.state))],
  [
    "GET",
    "/memberships",
    (call) => {
      const memberships = accountsOf(call.state).map((one) => ({
        id: one.id,
        status: "accepted",
        account: one,
        roles: [],
      }));
      return paged(call, memberships);
    },
  ],
  [
    "GET",
    "/accounts/:account/workers/subdomain",
    ({ state }) => {
      if (state.subdomain === null) {
        throw new Refused(404, 10007, "You do not have a workers.dev subdomain.");
      }
      return { subdomain: state.subdomain };
    },
  ],
  [
    "PUT",
    "/accounts/:account/workers/subdomain",
    (call) => {
      call.state.subdomain = String(json(call).subdomain);
      return { subdomain: call.state.subdomain };
    },
  ],
];
export { endpoints as account };
