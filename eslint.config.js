import js from "@eslint/js";
import globals from "globals";
import unsanitized from "eslint-plugin-no-unsanitized";

const [UPPER, LOWER] = ["MOST|MAX|LONGEST|LARGEST|HIGHEST", "LEAST|MIN|SHORTEST|SMALLEST|FEWEST|LOWEST"];
const named = (words) => `/^(${words})(_|$)/`;

export default [
  { files: ["pages/**/*.js", "headlight/**/*.js", "tests/**/*.js"] },
  { ignores: [".venv", "site", "eslint.config.js"] },
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
      // A limit itself is allowed: compare `n > MOST_X` and `n < LEAST_X`, as tests/lints/limit_signs.py does for Python.
      "no-restricted-syntax": [
        "error",
        ...["right", "right.left", "right.right"].flatMap((side) => [
          { selector: `BinaryExpression[operator=/^(<|>=)$/][${side}.name=${named(UPPER)}]`, message: "The limit itself is allowed." },
          { selector: `BinaryExpression[operator=/^(>|<=)$/][${side}.name=${named(LOWER)}]`, message: "The limit itself is allowed." },
        ]),
        {
          selector: `BinaryExpression[operator=/^[<>]=?$/][left.name=${named(`${UPPER}|${LOWER}`)}]`,
          message: "Write the limit on the right.",
        },
      ],
      // Text from people is inserted as text, never as HTML.
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "setHTMLUnsafe"].map((property) => ({ property })),
      ],
    },
  },
  { files: ["**/*.test.js"], languageOptions: { globals: globals.node } },
];
