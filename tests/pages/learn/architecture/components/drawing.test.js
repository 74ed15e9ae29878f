// The drawing of a model as a whole component: where each part is, what lights up, and what opens when it is chosen.

import assert from "node:assert/strict";
import { test } from "node:test";

import { point } from "../../../dom.js";
import { MASK, alone, bare, box, layersOf, made, numbers, over, pair, rectOf } from "./made_drawing.js";

test("each box says its name, its kind and its tips, with its heads, its mask and its hue", () => {
  const drawing = made(pair());
  assert.equal(drawing.find("svg").getAttribute("aria-label"), "Drawing");
  const attn = drawing.node("decoder.*.self_attn");
  assert.equal(attn.getAttribute("aria-label"), "self_attn! attention here. self_attn!, layer 2. a tip. another");
  assert.equal(drawing.node("linear").getAttribute("aria-label"), "linear! linear here. linear!. a tip. another");
  assert.equal(attn.querySelectorAll(".head").length, 2);
  const cells = [...attn.querySelectorAll(".mask rect")];
  const at = (cell, name) => Number(cell.getAttribute(name));
  const lines = (name) => [...new Set(cells.map((cell) => at(cell, name)))].toSorted((one, other) => one - other);
  const [columns, rows] = [lines("x"), lines("y")];
  for (const line of [columns, rows]) assert.ok(line.length === 4 && line.slice(1).every((one, i) => one - line[i] > at(cells[0], "width")));
  const pictured = rows.map((y) => columns.map((x) => (cells.find((cell) => at(cell, "x") === x && at(cell, "y") === y).matches(".not") ? "0" : "1")).join(""));
  assert.equal(pictured.join(""), MASK);
  assert.equal(drawing.node("linear").querySelectorAll(".head, .mask").length, 0);
  assert.equal(drawing.node("encoder.embed").style.getPropertyValue("--hue"), "var(--embedding)");
});

test("a box of another model has its own heads, mask and kind, whatever stood there before", () => {
  const drawing = made(pair());
  const other = pair();
  const [attn, norm] = other.stacks[1].inside;
  for (const [heads, mask, kind] of [[4, "1".repeat(16), "norm"], [0, "", "add_norm"], [1, MASK, "norm"]]) {
    Object.assign(attn, { heads, mask });
    Object.assign(norm, { kind });
    drawing.update(structuredClone(other));
    const node = drawing.node("decoder.*.self_attn");
    assert.equal(drawing.findAll('[data-box="decoder.*.self_attn"]').length, 1);
    const shifts = [...node.querySelectorAll(".head")].map((head) => numbers(head.getAttribute("x"))[0] - numbers(node.querySelector(".ground").getAttribute("x"))[0]);
    assert.deepEqual(shifts, Array.from({ length: heads }, (_, i) => 3 * (heads - i)));
    assert.equal([...node.querySelectorAll(".mask rect")].map((cell) => (cell.matches(".not") ? "0" : "1")).join(""), mask);
    assert.ok(drawing.node("decoder.*.ln1").matches(`.box.${kind}`));
  }
});

test("one layer is open, the others are plates with their numbers, and all boxes of a layer lie within its frame", () => {
  for (const [encoder, decoder] of [[1, 2], [0, 4], [2, 0]]) {
    const drawing = made(pair({ encoder, decoder }));
    assert.deepEqual(layersOf(drawing), [`layer ${encoder}`, `layer ${decoder}`]);
    assert.deepEqual(drawing.findAll(".times").map(({ textContent }) => textContent), ["3 ×", "5 ×"]);
    for (const [name, open, n] of [["encoder", encoder, 3], ["decoder", decoder, 5]]) {
      const layers = drawing.findAll(`.plate[data-stack="${name}"]`).map(({ dataset }) => Number(dataset.layer));
      assert.deepEqual(layers.toSorted(), Array.from({ length: n }, (_, layer) => layer).filter((layer) => layer !== open));
      for (const layer of layers) {
        const plate = drawing.plate(name, layer);
        assert.deepEqual([plate.getAttribute("aria-label"), plate.querySelector("text").textContent], [`Open layer ${layer}`, `layer ${layer}`]);
        assert.equal(rectOf(plate).y > rectOf(drawing.node(`${name}.*`)).y, layer < open); // earlier ones below
      }
      const frame = rectOf(drawing.node(`${name}.*`));
      for (const one of drawing.findAll(`.box[data-box^="${name}.*."]`)) {
        const { x, y, w, h } = rectOf(one);
        assert.ok(x > frame.x && x + w < frame.x + frame.w && y > frame.y && y + h < frame.y + frame.h, one.dataset.box);
      }
    }
    drawing.leave();
  }
});

test("everything lies on the sheet, a stack's words below it and what the model says above", () => {
  for (const data of [pair(), alone()]) {
    const drawing = made(data);
    const [, , width, height] = numbers(drawing.find("svg").getAttribute("viewBox"));
    for (const one of drawing.findAll(".node")) {
      const { x, y, w, h } = rectOf(one);
      assert.ok(x >= 0 && y >= 0 && x + w <= width && y + h <= height, one.dataset.box);
    }
    const label = (text) => drawing.findAll(".label").find(({ textContent }) => textContent === text);
    const y = (text) => Number(label(text).getAttribute("y"));
    const boxes = drawing.findAll(".node").map(rectOf);
    for (const { name } of data.stacks) {
      const embed = rectOf(drawing.node(`${name}.embed`));
      assert.ok(y(`text of ${name}`) > y(`input of ${name}`) && y(`input of ${name}`) > embed.y + embed.h && y(`text of ${name}`) < height);
      assert.equal(Number(label(`input of ${name}`).getAttribute("x")), embed.x + embed.w / 2);
    }
    assert.ok(y("what it says") < y("probabilities") && y("probabilities") < Math.min(...boxes.map((one) => one.y)) && y("what it says") > 0);
    const linear = rectOf(drawing.node("linear"));
    assert.ok(y("9 × 100") < linear.y);
    assert.equal(drawing.findAll(".label").filter(({ textContent }) => textContent === "memory, 7 × 16").length, data.stacks.length - 1);
    assert.equal(drawing.findAll(".label").filter(({ textContent }) => textContent === "7 × 16").length, data.stacks.length);
    drawing.leave();
  }
});

/** Where the stream of a stack runs straight up: what it passes, and its own stretches; from the top to the bottom. */
function stretches(drawing, name, head) {
  const x = rectOf(drawing.node(`${name}.embed`)).x + rectOf(drawing.node(`${name}.embed`)).w / 2;
  const own = drawing.findAll(".arrow.stream path").map((path) => path.getAttribute("d").match(/^M([\d.]+) ([\d.]+)V([\d.]+)$/)?.slice(1).map(Number));
  const lines = own.filter((line) => line && Math.abs(line[0] - x) < 0.01).map(([, from, to]) => [to, from]);
  const names = ["embed", "sum", "ln_final"].map((part) => `${name}.${part}`);
  const passed = [...[...names, `${name}.*`, ...head].map((one) => drawing.node(one)).filter(Boolean), ...drawing.findAll(`.plate[data-stack="${name}"]`)];
  return { lines, passed: passed.map(rectOf).map(({ y, h }) => [y, y + h]) };
}

test("the stream runs without a gap from what the model reads to what it says, whichever layers are open", () => {
  const cases = [...[[1, 2], [0, 0], [2, 4]].map(([encoder, decoder]) => pair({ encoder, decoder })), ...[0, 1, 3].map((open) => alone(open)), alone(1, { head: [] }), ...[2, 3].map(bare)];
  for (const data of cases) {
    const drawing = made(data);
    data.stacks.forEach(({ name }, i) => {
      const isLast = i === data.stacks.length - 1;
      const head = isLast ? data.head.map((one) => one.name) : [];
      const { lines, passed } = stretches(drawing, name, head);
      const all = [...lines, ...passed].toSorted((one, other) => one[0] - other[0]);
      let [, end] = all[0];
      for (const [from, to] of all.slice(1)) {
        assert.ok(from <= end + 5, `${name} has a gap from ${end} to ${from}`);
        end = Math.max(end, to);
      }
      const embed = rectOf(drawing.node(`${name}.embed`));
      const highest = Math.min(...passed.map(([top]) => top));
      assert.ok(lines.some(([to, from]) => to === embed.y + embed.h && from > to), "into the embedding");
      assert.equal(lines.some(([to, from]) => from >= highest && to < highest), isLast, "out of the model");
      for (const [to, from] of lines) assert.ok(to < from, "upwards");
      for (const [top, bottom] of passed) {
        const others = lines.filter(([to, from]) => to > top + 0.01 && from < bottom - 0.01);
        if (bottom - top < 60) assert.deepEqual(others, [], "within none but a layer");
      }
    });
    drawing.leave();
  }
});

test("the memory goes from the top of the encoder to the cross-attention, and into every plate of the decoder", () => {
  for (const [encoder, from] of [[1, "encoder.top"], [2, "encoder.*.ln2"]]) {
    const drawing = made(pair({ encoder, decoder: 2 }));
    assert.deepEqual(drawing.arrows(".memory"), [`${from} > decoder.*.cross_attn`]);
    const heads = drawing.findAll(".memory .head").map((head) => numbers(head.getAttribute("transform")));
    const borders = [0, 1, 3, 4].map((layer) => rectOf(drawing.plate("decoder", layer))).map(({ x, y, h }) => [x, y + h / 2]);
    assert.deepEqual(heads, borders);
    const [x, y] = numbers(drawing.find(".memory .line").getAttribute("d"));
    const source = from.endsWith("top") ? rectOf(drawing.plate("encoder", 2)) : rectOf(drawing.node("encoder.*"));
    assert.deepEqual([y, x > source.x && x < source.x + source.w], [source.y, true]);
    drawing.leave();
  }
  const data = pair();
  data.stacks[0].after = [box("encoder.ln_final", "norm")];
  const drawing = made(data);
  assert.deepEqual(drawing.arrows(".memory"), ["encoder.ln_final > decoder.*.cross_attn"]);
  assert.ok(drawing.arrows(".stream").includes("encoder.top > encoder.ln_final"));
});

test("what is pointed at stays lit when it is chosen, and says what it is by then", () => {
  const drawing = made(pair());
  const mlp = drawing.node("encoder.*.mlp");
  over(mlp);
  const lit = drawing.arrows(".lit");
  mlp.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  assert.deepEqual(drawing.arrows(".lit"), lit);
  drawing.update(pair({ encoder: 2, decoder: 2 }, { chosen: "encoder.2.mlp" }));
  assert.deepEqual([drawing.arrows(".lit"), drawing.near()], [lit, ["encoder.*.ln1", "encoder.*.ln2", "encoder.*.mlp"]]);
  assert.equal(drawing.tip().firstChild.textContent, "mlp!, layer 2");
});

test("what is pointed at lights up with the arrows that lead there, away and around, and with what is at their other ends", () => {
  const drawing = made(pair());
  const mlp = drawing.node("encoder.*.mlp");
  over(mlp.querySelector("text"));
  assert.ok(drawing.find("svg").matches(".pointing"));
  assert.deepEqual(drawing.arrows(".lit"), ["encoder.*.ln1 > encoder.*.ln2", "encoder.*.ln1 > encoder.*.mlp", "encoder.*.mlp > encoder.*.ln2"]);
  assert.deepEqual(drawing.near(), ["encoder.*.ln1", "encoder.*.ln2", "encoder.*.mlp"]);
  assert.ok(drawing.findAll(".node.lit").length === 1 && mlp.matches(".lit"));
  assert.deepEqual([...drawing.tip().children].map(({ tagName, textContent }) => [tagName, textContent]), [["B", "mlp!, layer 1"], ["DIV", "a tip"], ["DIV", "another"]]);
  assert.ok(drawing.isSaid());
  over(drawing.plate("encoder", 0));
  assert.deepEqual(drawing.arrows(".lit"), ["encoder.entry > encoder.*.self_attn", "encoder.sum > encoder.bottom"]);
  assert.deepEqual(drawing.near(), ["encoder.*.self_attn", "encoder.sum"]);
  assert.equal(drawing.tip().textContent, "Open layer 0");
  over(drawing.plate("encoder", 2));
  assert.deepEqual(drawing.arrows(".lit"), ["encoder.*.ln2 > encoder.above", "encoder.top > decoder.*.cross_attn"]);
  point(drawing.find("svg"), "mouseleave");
  assert.equal(drawing.findAll(".lit, .near, .pointing").length, 0);
  assert.ok(!drawing.isSaid());
});

test("positions stand beside the sum on one side and segments on the other", () => {
  const data = pair();
  for (const one of data.stacks) one.before.push(box(`${one.name}.seg`, "segments", { small: true }));
  const drawing = made(data);
  for (const name of ["encoder", "decoder"]) {
    const [sum, pos, seg] = ["sum", "pos", "seg"].map((part) => rectOf(drawing.node(`${name}.${part}`)));
    const isLeft = name === "encoder";
    assert.equal(pos.x + pos.w < sum.x, isLeft);
    assert.equal(seg.x > sum.x + sum.w, isLeft);
    for (const one of [pos, seg]) assert.equal(one.y + one.h / 2, sum.y + sum.h / 2);
  }
});
