// Modules that bring no types of their own.

// CommonJS: what Node imports as its default is all that it exports.
declare module "workerd" {
  const workerd: { default: string; compatibilityDate: string; version: string };
  export default workerd;
}
