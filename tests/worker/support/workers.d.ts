// What test Workers take of the platform's module; its real types are for src only.
declare module "cloudflare:workers" {
  export class WorkerEntrypoint {
    protected ctx: any;
    protected env: any;
    constructor(ctx: any, env: any);
  }

  export class WorkflowEntrypoint<Env = any, Params = any> {
    protected ctx: any;
    protected env: Env;
    constructor(ctx: any, env: Env);
    run(event: WorkflowEvent<Params>, step: WorkflowStep): Promise<unknown>;
  }
  export type WorkflowEvent<Params> = { payload: Params; timestamp: Date; instanceId: string };
  export type WorkflowStep = any;
}
