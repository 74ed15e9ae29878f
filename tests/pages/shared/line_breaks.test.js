// Line breaks in a field of one line: typed with Shift and Enter, and pasted.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { JSDOM } from "jsdom";

const source = await readFile(new URL("../../../pages/shared/line_breaks.js", import.meta.url), "utf8");

/** Return the inserted text, and whether the page hears of it, when this happens in the box of this class. */
function after(name, kind, more) {
  const { window } = new JSDOM(`<div data-testid="stElementContainer" class="a ${name}"><input></div>`, { runScripts: "outside-only" });
  const input = window.document.querySelector("input");
  const inserted = [];
  window.document.execCommand = (command, _, text) => inserted.push(`${command} ${text}`);
  window.eval(source);
  let isHeard = false;
  input.addEventListener(kind, () => (isHeard = true));
  const event = new window.Event(kind, { bubbles: true, cancelable: true });
  input.dispatchEvent(Object.assign(event, more));
  return [...inserted, isHeard];
}

test("Shift and Enter is a line break in a field for texts, and there alone", () => {
  assert.deepEqual(after("st-key-text-line", "keydown", { key: "Enter", shiftKey: true }), ["insertText ↵", false]);
  assert.deepEqual(after("st-key-text-line", "keydown", { key: "Enter", shiftKey: false }), [true]);
  assert.deepEqual(after("st-key-build-line-5-box", "keydown", { key: "Enter", shiftKey: true }), [true]);
});

test("what is pasted keeps its line breaks", () => {
  const pasted = (text) => after("st-key-text-line", "paste", { clipboardData: { getData: () => text } });
  assert.deepEqual(pasted("a\r\n\tb\n"), ["insertText a↵\tb↵", false]);
  assert.deepEqual(pasted("\\\n↵"), ["insertText \\\\↵\\↵", false]);
  assert.deepEqual(pasted("a b"), [true]);
});
