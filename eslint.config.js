import js from "@eslint/js";
import globals from "globals";

/** What a worker has; it has no `process` and no `require`. */
const worker = globals.serviceworker;

export default [
  {
    ignores: ["build/", "target/", "node_modules/", ".holdfast/", ".wrangler/", "tests/artefacts/"],
  },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      "consistent-return": "error",
      curly: ["error", "multi-line", "consistent"],
      eqeqeq: "error",
      "no-await-in-loop": "off",
      "no-constant-binary-expression": "error",
      "no-else-return": "error",
      "no-eval": "error",
      "no-implicit-coercion": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-promise-executor-return": "off",
      "no-self-compare": "error",
      "no-shadow": ["error", { builtinGlobals: false }],
      "no-template-curly-in-string": "error",
      "no-throw-literal": "error",
      "no-unmodified-loop-condition": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-use-before-define": ["error", { functions: false, variables: false }],
      "no-useless-rename": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "require-atomic-updates": "off",
    },
  },
  {
    files: ["src/**/*.js"],
    languageOptions: { globals: worker },
  },
  {
    files: ["*.config.js", "scripts/**", "tests/**", "mocks/**", "bench/**"],
    languageOptions: { globals: globals.node },
  },
];
