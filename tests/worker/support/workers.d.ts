// What test Workers take of the platform's module; its real types are for src only.
declare module "cloudflare:workers" {
  export class WorkerEntrypoint {
    protected ctx: any;
    protected env: any;
    constructor(ctx: any, env: any);
  }
  export class WorkflowEntrypoint {
    protected ctx: any;
    protected env: any;
    constructor(ctx: any, env: any);
  }
  export interface WorkflowEvent<T> {
    payload: T;
    instanceId: string;
  }
  export type WorkflowStep = any;
}
