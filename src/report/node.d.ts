// Of Node's modules, the part that workerd has and we use.
declare module "node:async_hooks" {
  export class AsyncLocalStorage<T> {
    getStore(): T | undefined;
    run<R>(store: T, work: () => R): R;
  }
}
