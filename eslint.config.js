import js from "@eslint/js";
import globals from "globals";

/** What a worker has; it has no `process` and no `require`. */
const worker = globals.serviceworker;

export default [
  {
    ignores: [
      "**/build/",
      "target/",
      "node_modules/",
      ".holdfast/",
      "**/.wrangler/",
      "tests/artefacts/",
    ],
  },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-constant-binary-expression": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-throw-literal": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-useless-rename": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
    },
  },
  {
    files: ["src/**/*.js"],
    ignores: ["src/pages/assets/**"],
    languageOptions: { globals: worker },
  },
  {
    files: ["src/pages/assets/**"],
    languageOptions: { globals: globals.browser },
  },
  {
    files: ["*.config.js", "scripts/**", "tests/**", "mocks/**", "bench/**"],
    languageOptions: { globals: globals.node },
  },
  {
    // Functions that a test of pages hands to the browser.
    files: ["tests/browser/**", "scripts/screenshots.mjs"],
    languageOptions: { globals: globals.browser },
  },
  {
    // A test throws what programs throw, and runs what the code under test made.
    files: ["tests/**"],
    rules: { "no-new-func": "off", "no-throw-literal": "off" },
  },
];
