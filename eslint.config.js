import js from "@eslint/js";
import globals from "globals";
import unsanitized from "eslint-plugin-no-unsanitized";

export default [
  { files: ["pages/**/*.js", "transformer_core/**/*.js", "tests/**/*.js"] },
  { ignores: [".venv", "docs", "eslint.config.js"] },
  js.configs.recommended,
  unsanitized.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser, Plotly: "readonly" } },
    rules: {
      eqeqeq: ["error", "always"],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-var": "error",
      "prefer-const": "error",
      // Text is written as text, whatever is typed.
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "setHTMLUnsafe"].map((property) => ({ property })),
      ],
    },
  },
  { files: ["**/*.test.js"], languageOptions: { globals: globals.node } },
];
