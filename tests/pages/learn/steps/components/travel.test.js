// How the figure of the steps goes from stage to stage: its journeys, what flies, the operations, and its width.

import assert from "node:assert/strict";
import { test } from "node:test";

import { prefer, press, resize, run, shown } from "../../../dom.js";
import show from "../../../../../pages/learn/steps/components/steps/steps.js";
import { ADD, ADD_CROSS, data, made, STAGES } from "./made_steps.js";

const boxNow = (steps) => [steps.find(".labels").style.left, steps.find(".labels").style.width].map(parseFloat);
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
  boxNow(steps).forEach((at, i) => assert.ok(Math.abs(at - boxNow(there)[i]) < 0.06));
  const now = painted(steps);
  run(300);
  assert.equal(painted(steps), now);
  there.leave();
  prefer("(prefers-reduced-motion: reduce)");
  press(steps.canvas, "End");
  const end = made({ at: { stage: "output" } });
  assert.equal(painted(steps), painted(end));
});

test("who goes on before they have arrived arrives there only, and what has left travels no more", () => {
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

test("numbers fly to what they make where one goes forward by one stage, and nothing flies back or over several", () => {
  const steps = made({ at: { stage: "projection" } });
  const isPainted = (x, y) => steps.canvas.pixel(x, y)[3] > 0;
  /** Whether something is between the query's own strip and the rows of the keys, where nothing rests. */
  const isUnderWay = () => {
    const [from, to] = [100, Math.floor(steps.across("mask"))];
    return Array.from({ length: to - from }, (_, i) => from + i).some((x) => isPainted(x, 59) || isPainted(x, 89));
  };
  const flies = (go) => {
    go();
    let found = false;
    for (let i = 0; i < 8; i++) {
      run(64);
      found ||= isUnderWay();
    }
    run(200);
    return found || isUnderWay();
  };
  const ways = [() => press(steps.canvas, "ArrowRight"), () => press(steps.canvas, "ArrowLeft"), () => steps.findAll(".stop")[3].click()];
  assert.deepEqual(ways.map(flies), [true, false, false]);
});

test("each operation is named in front of what it makes, and what is added goes over all that lies between", () => {
  const at = (stage) => made({ at: { stage }, stages: [...STAGES, ADD, ...(stage === "add_cross" ? [ADD_CROSS] : [])] });
  const operations = (steps) => steps.texts().filter(({ font, y, align }) => font.startsWith("11px") && y > 30 && align === "center" && y < 200).map(({ text, x }) => ({ text, x }));
  for (const [stage, text, from, to] of [["product", "Σ", "q*k", "product"], ["softmax", "softmax", "attn_scores", "pattern"], ["output", "W_O", "concat", "attn_out"], ["add", "+", "attn_out", "resid_mid"], ["add_cross", "+", "cross_out", "resid_mid_cross"]]) {
    const steps = at(stage);
    const found = operations(steps).find((one) => one.text === text);
    assert.ok(found && found.x > steps.across(from) && found.x < steps.across(to), stage);
    steps.leave();
  }
  const arcs = (steps) => {
    const over = steps.canvas.getContext("2d").paths.filter(({ kind, points }) => kind === "stroke" && points.some(([, , y]) => y === 5));
    return over.map(({ points: [[, x0], ...rest] }) => [x0, rest.at(-1).at(-2)]);
  };
  const steps = at("add");
  const [[from, to], ...others] = arcs(steps);
  assert.deepEqual(others, []);
  const [x, out, resid] = ["x", "attn_out", "resid_mid"].map((name) => steps.across(name));
  assert.ok(from > x && from < steps.across("q") && to > out && Math.abs(to - resid) < 30);
  steps.leave();
  const before = at("output");
  assert.deepEqual([arcs(before), operations(before).some(({ text }) => text === "+")], [[], false]); // not yet
});

test("a narrow figure leaves operations out rather than writing over its columns", () => {
  const steps = made({ at: { stage: "softmax" } });
  assert.ok(steps.texts().some(({ text, y }) => text === "softmax" && y > 30));
  resize(steps.find(".figure"), 420, 600);
  assert.ok(!steps.texts().some(({ text, y }) => text === "softmax" && y > 30));
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
