// Modules that bring no types of their own.

declare module "workerd" {
  /** Path of the program. */
  const path: string;
  export default path;
  export const compatibilityDate: string;
  export const version: string;
}
