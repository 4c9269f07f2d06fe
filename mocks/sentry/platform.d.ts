// Of the platform's modules and types, the part that this mock uses.
declare module "cloudflare:workers" {
  export class DurableObject {
    constructor(ctx: DurableObjectState, env: unknown);
  }
}

interface DurableObjectState {
  storage: {
    sql: {
      exec(query: string, ...bindings: unknown[]): { toArray(): Record<string, unknown>[] };
    };
  };
}
