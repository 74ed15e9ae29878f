// Walking over the drawing of a model: its tip, what is chosen, and where keys lead.

import assert from "node:assert/strict";
import { test } from "node:test";

import { announced, place, press } from "../../../dom.js";
import { alone, layersOf, made, over, pair, pressed, reached, rectOf } from "./made_drawing.js";

test("the tip stands beside the frame, on its other side where there is no room", () => {
  const drawing = made(pair());
  const { left, width } = { left: rectOf(drawing.node("decoder.*")).x, width: rectOf(drawing.node("decoder.*")).w };
  place(drawing.tip(), { width: 100, height: 40 });
  const at = (node) => (over(node), [drawing.tip().style.left, drawing.tip().style.top].map(parseFloat));
  const mlp = rectOf(drawing.node("decoder.*.mlp"));
  assert.deepEqual(at(drawing.node("decoder.*.mlp")), [left + width + 8, mlp.y + mlp.h / 2 - 20]);
  const frame = rectOf(drawing.node("encoder.*"));
  assert.equal(at(drawing.node("encoder.*.mlp"))[0], frame.x + frame.w + 8);
  globalThis.innerWidth = left + width + 80;
  assert.equal(at(drawing.node("decoder.*.mlp"))[0], mlp.x - 112);
  globalThis.innerWidth = 1440;
});

test("a box is chosen by a click or a key, told with the number of its open layer, and the page's answer moves the mark", () => {
  const drawing = made(pair());
  assert.deepEqual([pressed(drawing), reached(drawing)], [["decoder.*.mlp"], ["decoder.*.mlp"]]);
  drawing.node("encoder.*.ln2").querySelector("text").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  assert.deepEqual(drawing.blocks, [["block", { revision: 1, value: "encoder.1.ln2" }]]);
  assert.deepEqual([pressed(drawing), reached(drawing)], [["encoder.*.ln2"], ["encoder.*.ln2"]]);
  assert.match(announced(), /^Chosen: ln2! add_norm here\. ln2!, layer 1/);
  press(drawing.node("linear"), "Enter");
  press(drawing.node("decoder.*"), " ");
  assert.deepEqual(drawing.blocks.slice(1).map(([, { value }]) => value), ["linear", "decoder.2"]);
  drawing.focus().blur();
  drawing.update(pair(undefined, { chosen: "encoder.embed" }));
  assert.deepEqual([pressed(drawing), reached(drawing)], [["encoder.embed"], ["encoder.embed"]]);
  drawing.update(pair(undefined, { chosen: "decoder.3.mlp" })); // of no open layer: nothing is marked, and all can be reached
  assert.deepEqual([pressed(drawing), reached(drawing).length], [[], 1]);
});

test("a plate that is chosen opens at once: the same box in it where one of its stack is selected, else the layer", () => {
  const drawing = made(pair());
  const click = (plate) => plate.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  click(drawing.plate("decoder", 4));
  assert.deepEqual(drawing.blocks.at(-1), ["block", { revision: 1, value: "decoder.4.mlp" }]);
  assert.deepEqual([layersOf(drawing), pressed(drawing)], [["layer 1", "layer 4"], ["decoder.*.mlp"]]);
  assert.match(announced(), /^Chosen: mlp! .*layer 4/);
  const mlp = drawing.node("decoder.*.mlp");
  click(drawing.plate("encoder", 0));
  assert.deepEqual(drawing.blocks.at(-1), ["block", { revision: 2, value: "encoder.0" }]);
  assert.deepEqual([layersOf(drawing), pressed(drawing)], [["layer 0", "layer 4"], ["encoder.*"]]);
  assert.equal(drawing.node("decoder.*.mlp"), mlp); // is left unchanged, and so keeps its focus
  assert.equal(drawing.findAll(".plate").length, 6);
  drawing.update(pair({ encoder: 2, decoder: 99 }, { chosen: "encoder.2" })); // the last there is
  assert.deepEqual(layersOf(drawing), ["layer 2", "layer 4"]);
  press(drawing.plate("decoder", 1), "Enter");
  assert.equal(drawing.focus(), drawing.node("decoder.*")); // the plate is gone
});

test("an answer that is older than the last click changes neither what is chosen nor which layers are open", () => {
  const drawing = made(pair());
  const click = (node) => node.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  click(drawing.plate("encoder", 0));
  click(drawing.plate("decoder", 4));
  drawing.update(pair({ encoder: 0, decoder: 2 }, { chosen: "encoder.0" }), 1); // to the first click
  assert.deepEqual([layersOf(drawing), pressed(drawing)], [["layer 0", "layer 4"], ["decoder.*"]]);
  drawing.update(pair({ encoder: 0, decoder: 4 }, { chosen: "decoder.4" }), 2);
  assert.deepEqual([layersOf(drawing), pressed(drawing)], [["layer 0", "layer 4"], ["decoder.*"]]);
  click(drawing.plate("decoder", 3));
  drawing.update(alone(1), 2); // a smaller model, sent before the click
  assert.deepEqual(layersOf(drawing), ["layer 3"]);
  const fewer = alone(1);
  fewer.stacks[0].layers = 2;
  drawing.update(fewer, 2);
  assert.deepEqual(layersOf(drawing), ["layer 1"]);
});

test("what is pointed at and goes takes its tip and its light along", () => {
  const drawing = made(pair());
  const plate = drawing.plate("encoder", 0);
  over(plate);
  assert.ok(drawing.isSaid());
  plate.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  assert.ok(!plate.isConnected && !drawing.isSaid());
  assert.equal(drawing.findAll(".lit, .near, .pointing").length, 0);
  drawing.update(alone());
  assert.deepEqual(drawing.findAll(".box").map(({ dataset }) => dataset.box).filter((name) => name.startsWith("encoder")), []);
  assert.ok(!drawing.node("decoder.*.cross_attn"));
});

test("arrow keys move to the neighbour, and Escape takes the tip away", () => {
  const drawing = made(pair());
  const from = (name, key) => (press(drawing.node(name), key), drawing.focus().dataset.box ?? drawing.focus().dataset.layer);
  assert.equal(from("encoder.*.mlp", "ArrowUp"), "encoder.*.ln2");
  assert.ok(drawing.node("encoder.*.ln2").matches(".lit"));
  assert.equal(from("encoder.*.mlp", "ArrowDown"), "encoder.*.ln1");
  const stackOf = ({ dataset }) => dataset.stack ?? dataset.box.split(".")[0];
  for (const [start, key, to] of [["encoder.*.mlp", "ArrowRight", "decoder"], ["decoder.*.mlp", "ArrowLeft", "encoder"]]) {
    from(start, key);
    assert.equal(stackOf(drawing.focus()), to);
  }
  assert.equal(from("encoder.*.self_attn", "ArrowDown"), "0"); // the plate below
  assert.equal(from("encoder.*.ln2", "ArrowUp"), "encoder.*"); // the frame stands where its name is, at its top
  assert.ok(drawing.isSaid());
  assert.ok(press(drawing.focus(), "Escape"));
  assert.ok(!drawing.isSaid());
  assert.ok(!press(drawing.node("linear"), "Tab").defaultPrevented);
  assert.equal(from("softmax", "ArrowUp"), "softmax"); // nothing is above
});
