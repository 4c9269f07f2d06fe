// Who is asking: the user, the account, the token, the account's workers.dev name.
import { ACCOUNT, Refused, json, paged } from "./api.mjs";

const account = { id: ACCOUNT, name: "Stand-in", type: "standard" };

/** @type {import("./cloud.mjs").Endpoint[]} */
const endpoints = [
  ["GET", "/user", () => ({ id: "stand-in", email: "stand-in@example.com" })],
  ["GET", "/user/tokens/verify", () => ({ id: "stand-in", status: "active" })],
  ["GET", "/accounts/:account/tokens/verify", () => ({ id: "stand-in", status: "active" })],
  ["GET", "/accounts", (call) => paged(call, [account])],
  ["GET", "/memberships", (call) => paged(call, [{ id: "stand-in", status: "accepted", account, roles: [] }])],
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
