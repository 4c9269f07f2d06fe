// Workflows and their instances. A workflow outlives the worker that its class is in.
import { Refused, json, paged } from "./api.mjs";

const ROOT = "/accounts/:account/workflows";

/**
 * @param {import("./cloud.mjs").Call} call
 * @returns {import("./cloud.mjs").Workflow}
 */
function workflowOf({ state, args, touch }) {
  touch(`workflow:${args[0]}`);
  const workflow = state.workflows[args[0] ?? ""];
  if (workflow === undefined) throw new Refused(404, 10200, `workflow.not_found: ${args[0]}`);
  return workflow;
}

/** @param {import("./cloud.mjs").Workflow} workflow */
const shown = ({ instances, ...workflow }) => ({
  ...workflow,
  modified_on: workflow.created_on,
  instances: { complete: Object.keys(instances).length },
});

/** @type {import("./cloud.mjs").Endpoint[]} */
export const workflows = [
  ["GET", ROOT, (call) => paged(call, Object.values(call.state.workflows).map(shown))],
  ["GET", `${ROOT}/:name`, (call) => shown(workflowOf(call))],
  [
    "PUT",
    `${ROOT}/:name`,
    (call) => {
      const name = call.args[0] ?? "";
      call.touch(`workflow:${name}`);
      const { script_name, class_name } = json(call);
      if (call.state.scripts[script_name] === undefined) {
        throw new Refused(400, 10201, `workflow.script_not_found: ${script_name}`);
      }
      const known = call.state.workflows[name];
      const workflow = {
        id: known?.id ?? call.cloud.uuid(),
        name,
        script_name: call.half ? "" : script_name,
        class_name,
        created_on: known?.created_on ?? new Date().toISOString(),
        instances: known?.instances ?? {},
      };
      call.state.workflows[name] = workflow;
      return { ...shown(workflow), version_id: workflow.id };
    },
  ],
  [
    "DELETE",
    `${ROOT}/:name`,
    (call) => {
      delete call.state.workflows[workflowOf(call).name];
      return { status: "ok", success: true };
    },
  ],
  [
    "GET",
    `${ROOT}/:name/instances`,
    (call) => paged(call, Object.values(workflowOf(call).instances)),
  ],
  [
    "POST",
    `${ROOT}/:name/instances`,
    (call) => {
      const workflow = workflowOf(call);
      const id = String(json(call).instance_id ?? call.cloud.uuid());
      workflow.instances[id] = { id, status: "queued" };
      return workflow.instances[id];
    },
  ],
];
