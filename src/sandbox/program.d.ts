// The module that `code::prepare` makes of a program (docs/sandbox.md), for the type check of the
// harness that imports it.
declare module "program.js" {
  export default function program(guard: object, runtime: object): () => unknown;
}

// What a program of ours (src/rollback.js) imports.
declare module "holdfast:runtime" {
  export const params: any;
  export const tools: any;
}
