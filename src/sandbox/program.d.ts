// The module that `code::prepare` makes of a program (docs/sandbox.md), for the type check of the
// harness that imports it.
declare module "program.js" {
  export default function program(guard: object, runtime: object): () => unknown;
}
