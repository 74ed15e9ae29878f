// How the figure of the steps goes from stage to stage: its journeys, what flies, the operations, and its width.

import assert from "node:assert/strict";
import { test } from "node:test";

import { prefer, press, resize, run, shown } from "../../../dom.js";
import show from "../../../../../pages/learn/steps/components/steps/steps.js";
import { ADD, ADD_CROSS, data, made, STAGES } from "./made_steps.js";

const painted = (steps) => JSON.stringify([steps.texts(), [...steps.canvas.getContext("2d").paths].map(({ points, color }) => [points, color])]);

test("a stage is travelled to within its time and ends where it would have been without a journey", () => {
  const there = made({ at: { stage: "mask" } });
  const steps = made();
  const widthOf = (name) => steps.texts().find(({ text, y }) => text === name && y < 30)?.x;
  const before = widthOf("product");
  press(steps.canvas, "ArrowRight");
  assert.equal(widthOf("product"), before);
  run(300);
  const half = painted(steps);
  assert.notEqual(half, painted(there));
  run(284);
  assert.notEqual(painted(steps), painted(there));
  run(32);
  assert.equal(painted(steps), painted(there));
  there.leave();
  prefer("(prefers-reduced-motion: reduce)");
  press(steps.canvas, "End");
  const end = made({ at: { stage: "output" } });
  assert.equal(painted(steps), painted(end));
});

test("a move before the last one has arrived arrives only at its own stage, and a removed part travels no more", () => {
  const steps = made();
  press(steps.canvas, "ArrowRight");
  run(200);
  press(steps.canvas, "Home");
  run(640);
  const there = made({ at: { stage: "input" } });
  assert.equal(painted(steps), painted(there));
  there.leave();
  press(steps.canvas, "End");
  run(100);
  steps.update(data({ revision: 9, at: { stage: "softmax" } })); // in the middle of it
  run(640);
  const softmax = made({ at: { stage: "softmax" } });
  assert.equal(painted(steps), painted(softmax));
  softmax.leave();
  press(steps.canvas, "ArrowRight");
  const brush = steps.canvas.getContext("2d");
  run(32);
  steps.leave();
  const left = JSON.stringify(brush.texts);
  run(640);
  assert.equal(JSON.stringify(brush.texts), left);
});

test("each operation is named in front of what it makes", () => {
  const at = (stage) => made({ at: { stage }, stages: [...STAGES, ADD, ...(stage === "add_cross" ? [ADD_CROSS] : [])] });
  const operations = (steps) => steps.texts().filter(({ font, y, align }) => font.startsWith("11px") && y > 30 && align === "center" && y < 200).map(({ text, x }) => ({ text, x }));
  for (const [stage, text, from, to] of [["product", "Σ", "q*k", "product"], ["softmax", "softmax", "attn_scores", "pattern"], ["output", "W_O", "concat", "attn_out"], ["add", "+", "attn_out", "resid_mid"], ["add_cross", "+", "cross_out", "resid_mid_cross"]]) {
    const steps = at(stage);
    const operation = operations(steps).find((one) => one.text === text);
    assert.ok(operation && operation.x > steps.across(from) && operation.x < steps.across(to), stage);
    steps.leave();
  }
});

test("nothing is written twice in one place, as an operation with several inputs", () => {
  for (const [name] of STAGES) {
    const steps = made({ at: { stage: name } });
    const places = steps.texts().map(({ text, x, y }) => `${text} ${x} ${y}`);
    assert.deepEqual(places, [...new Set(places)], name);
    steps.leave();
  }
});

test("a figure without a width waits for one, and takes another when it comes", () => {
  const steps = shown(show, "steps", data());
  const figure = steps.find(".figure");
  resize(figure, 500, 600);
  const { width } = steps.find("canvas");
  assert.equal(width, 500);
  resize(figure, 900, 600);
  assert.equal(steps.find("canvas").width, 900);
  const texts = JSON.stringify(steps.find("canvas").getContext("2d").texts);
  resize(figure, 0, 600);
  assert.equal(JSON.stringify(steps.find("canvas").getContext("2d").texts), texts);
  assert.equal(parseFloat(figure.style.height), steps.find("canvas").height);
});
