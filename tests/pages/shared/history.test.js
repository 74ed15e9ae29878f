// The browser's history: a step for each act of a person, none for what an address says on its own.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

const source = await readFile(new URL("../../../pages/shared/history.js", import.meta.url), "utf8");

/** Return the entries of the browser's history after these events and calls in this order. */
function after(...happens) {
  const listeners = {};
  const written = [];
  const history = {
    pushState: (_state, _title, address) => written.push(`push ${address}`),
    replaceState: (_state, _title, address) => written.push(`replace ${address}`),
  };
  // Only who listens on the way down hears of events that a component stops.
  const addEventListener = (kind, listener, isCapture) => isCapture && (listeners[kind] = listener);
  runInNewContext(source, { history, addEventListener });
  for (const it of happens) {
    const [what, address] = it.split(" ");
    if (what === "push") history.pushState(null, "", address);
    else if (what === "replace") history.replaceState(null, "", address);
    else listeners[what]({ type: what, detail: Number(address === "pointer"), isTrusted: address !== "script" });
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

test("a click is an act by a key or a reading aid, while a pointer has acted before by being pressed", () => {
  assert.deepEqual(after("pointerdown", "push a", "click pointer", "push b"), ["push a", "replace b"]);
  assert.deepEqual(after("keydown", "push a", "click", "push b"), ["push a", "push b"]);
  assert.deepEqual(after("popstate", "click pointer", "push a", "replace b"), [], "of the press before Back");
  assert.deepEqual(after("click script", "push a"), ["replace a"]);
});

test("an act that writes nothing new counts for the address that comes next", () => {
  assert.deepEqual(after("keydown", "replace a", "push b", "push c"), ["replace a", "push b", "replace c"]);
  assert.deepEqual(after("keydown", "keydown", "push a", "push b"), ["push a", "replace b"]);
});
