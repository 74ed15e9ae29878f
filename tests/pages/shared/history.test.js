// The browser's history: a step for each act of a person, none for what an address says by itself.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

const source = await readFile(new URL("../../../pages/shared/history.js", import.meta.url), "utf8");

/** Return what is written to the browser's history when these events and calls come in this order. */
function after(...happens) {
  const listeners = {};
  const written = [];
  const history = {
    pushState: (address) => written.push(`push ${address}`),
    replaceState: (address) => written.push(`replace ${address}`),
  };
  runInNewContext(source, { history, addEventListener: (kind, listener) => (listeners[kind] = listener) });
  for (const it of happens) {
    const [what, address] = it.split(" ");
    if (what === "push") history.pushState(address);
    else if (what === "replace") history.replaceState(address);
    else listeners[what]({ type: what, detail: 0, isTrusted: address !== "script" });
  }
  return written;
}

test("the first address after an act is a step, and what completes it takes its place", () => {
  for (const act of ["pointerdown", "click", "keydown", "input"]) {
    assert.deepEqual(after("push a", act, "push b", "push c", "replace d"), ["replace a", "push b", "replace c", "replace d"]);
  }
});

test("what follows Back is left out until the next act, and then all is as before", () => {
  const before = ["keydown", "push a", "popstate", "push b", "replace b"];
  assert.deepEqual(after(...before), ["push a"]);
  assert.deepEqual(after(...before, "keydown", "replace c", "push d", "push e", "replace f"), [
    ...["push a", "replace c", "push d", "replace e", "replace f"],
  ]);
  assert.deepEqual(after("keydown", "popstate", "push a"), [], "of the view that was left");
});

test("what a script does is no act", () => {
  assert.deepEqual(after("click script", "push a"), ["replace a"]);
});
