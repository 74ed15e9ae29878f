// The drawing of a model as a whole component: what stands where, what lights up, and what opens when it is chosen.

import assert from "node:assert/strict";
import { test } from "node:test";

import { point } from "../../../dom.js";
import { MASK, alone, bare, box, flow, layersOf, made, numbers, over, pair, rectOf } from "./made_drawing.js";

test("each box says its name, its kind and its tips, with its heads, its mask and its hue", () => {
  const drawing = made(pair());
  assert.equal(drawing.find("svg").getAttribute("aria-label"), "Drawing");
  const attn = drawing.node("decoder.*.self_attn");
  assert.deepEqual([...attn.querySelectorAll(".title, .sub")].map(({ textContent }) => textContent), ["self_attn!", "attention here"]);
  assert.equal(attn.getAttribute("aria-label"), "self_attn! attention here. self_attn!, layer 2. a tip. another");
  assert.equal(drawing.node("encoder.*.mlp").getAttribute("aria-label"), "mlp! feed_forward here. mlp!, layer 1. a tip. another");
  assert.equal(drawing.node("linear").getAttribute("aria-label"), "linear! linear here. linear!. a tip. another");
  assert.equal(drawing.node("decoder.*").getAttribute("aria-label"), "layer 2 5 ×. Layer 2. a tip. another");
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
  assert.deepEqual(["--embedding", "--query"].map((name) => drawing.root.style.getPropertyValue(name)), ["#123456", "#654321"]);
  assert.equal(drawing.node("encoder.sum").querySelector(".plus").getAttribute("d"), "M-6 0H6M0 -6V6");
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

test("a name that is too long is written smaller, beside a mask earlier", () => {
  const size = (title, mask) => {
    const data = alone();
    Object.assign(data.stacks[0].inside[1], { title, mask });
    const drawing = made(data);
    const text = drawing.node("decoder.*.self_attn").querySelector(".title");
    drawing.leave();
    return parseFloat(text.style.fontSize);
  };
  assert.equal(size("short", ""), 13.5);
  assert.equal(size("x".repeat(30), ""), 13.5); // 180 px of 182
  assert.ok(Math.abs(size("x".repeat(40), "") - (13.5 * 182) / 240) < 0.01);
  assert.ok(size("x".repeat(30), MASK) < 13);
});

test("a norm of the embeddings stands above them, and below the layers", () => {
  const data = pair();
  const [norm, sum] = [box("encoder.ln_embed", "norm"), "encoder.sum"];
  data.stacks[0].before.push(norm);
  const drawing = made(data);
  const [above, below, frame, higher] = [norm.name, sum, "encoder.*", "decoder.sum"].map((name) => rectOf(drawing.node(name)));
  assert.ok(above.y + above.h < below.y && above.y > frame.y + frame.h && below.y === higher.y);
});

test("plates have their numbers as long as these are 15 px apart", () => {
  for (const [n, isNamed] of [[8, true], [12, true], [13, true], [14, false], [200, false]]) { // 190 px for all of them
    const data = pair({ encoder: 0, decoder: 0 });
    data.stacks[1].layers = n;
    const drawing = made(data);
    const plates = drawing.findAll('.plate[data-stack="decoder"]');
    assert.deepEqual(plates.map((plate) => plate.querySelector("text").textContent), plates.map((_, i) => (isNamed ? `layer ${i + 1}` : "")), `${n} layers`);
    assert.deepEqual(plates.map((plate) => plate.getAttribute("aria-label")), plates.map((_, i) => `Open layer ${i + 1}`));
    assert.ok(plates.length === n - 1 && plates.every((plate) => rectOf(plate).h >= 2));
    drawing.leave();
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

test("each straight arrow goes from the top of what it is called after to the bottom of what it leads to", () => {
  for (const [data, open] of [[pair(), { encoder: 1, decoder: 2 }], [pair({ encoder: 0, decoder: 4 }), { encoder: 0, decoder: 4 }], [alone(2), { decoder: 2 }]]) {
    const drawing = made(data);
    const n = { encoder: 3, decoder: data.stacks.at(-1).layers };
    const frameOf = (name) => rectOf(drawing.node(`${name.split(".")[0]}.*`));
    const called = (name) => {
      const [of, part] = name.split(".");
      const layer = { entry: open[of] - 1, above: open[of] + 1, bottom: 0, top: n[of] - 1 }[part];
      return rectOf(layer === undefined ? drawing.node(name) : drawing.plate(of, layer));
    };
    for (const arrow of drawing.findAll(".arrow.stream")) {
      const { start, end } = arrow.dataset;
      const what = `${start} > ${end}`;
      const [, from, to] = arrow.querySelector("path").getAttribute("d").match(/^M[\d.]+ ([\d.]+)V([\d.]+)$/)?.map(Number) ?? [];
      if (from === undefined) continue; // from what stands beside
      const isInto = Boolean(arrow.querySelector(".head"));
      const bottomOf = ({ y, h }) => y + h;
      if (start.endsWith(".below")) assert.equal(from, bottomOf(frameOf(start)), what);
      else if (start) assert.equal(from, called(start).y, what);
      if (end.endsWith(".out")) assert.equal(to, frameOf(end).y, what);
      else if (end) assert.equal(to, bottomOf(isInto ? called(end) : frameOf(end)), what);
    }
    drawing.leave();
  }
});

test("dots mark where the stream parts, and letters beside their arrows name queries, keys and values, which enter around the middle", () => {
  const drawing = made(pair());
  const starts = drawing.findAll(".arrow.residual path").map((path) => numbers(path.getAttribute("d")).slice(0, 2).join());
  assert.equal(starts.length, 5);
  assert.deepEqual(drawing.findAll(".dot").map((dot) => `${dot.getAttribute("cx")},${dot.getAttribute("cy")}`).toSorted(), starts.toSorted());
  const letters = drawing.findAll(".letter");
  assert.equal(letters.filter(({ textContent }) => textContent === "K").length, 3);
  for (const letter of letters) {
    assert.equal(letter.textContent, { query: "Q", key: "K", value: "V" }[letter.parentElement.classList.item(1)]);
    const [x] = numbers(letter.parentElement.querySelector(".head").getAttribute("transform"));
    assert.equal(letter.getAttribute("text-anchor"), Number(letter.getAttribute("x")) < x ? "end" : "start");
  }
  const entries = (name) => ["key", "value", "query"].map((kind) => {
    const [x] = numbers(drawing.find(`.arrow.${kind}[data-end="${name}"] .head`).getAttribute("transform"));
    return x - (rectOf(drawing.node(name)).x + rectOf(drawing.node(name)).w / 2);
  });
  for (const side of ["encoder", "decoder"]) {
    const [key, value, query] = entries(`${side}.*.self_attn`);
    assert.deepEqual([value, key], [0, -query]);
  }
  assert.equal(entries("decoder.*.cross_attn")[2], 0); // above the sub-layer before: keys and values are the memory's
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
    over(drawing.node("decoder.*.cross_attn"));
    assert.ok(drawing.find(".memory").matches(".lit"));
    const [ends] = [drawing.find(".memory .line").getAttribute("d").matchAll(/M[\d.]+ ([\d.]+)H([\d.]+)/g)].map((all) => [...all].map(([, level, end]) => [level, end].map(Number)));
    for (const kind of ["key", "value"]) {
      const arrow = drawing.find(`.arrow.${kind}[data-end="decoder.*.cross_attn"] .line`);
      const [startX, startY] = numbers(arrow.getAttribute("d"));
      assert.ok(ends.some(([level, end]) => level === startY && end >= startX), `the line reaches the ${kind}s`);
    }
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
  over(drawing.plate("encoder", 0));
  drawing.plate("encoder", 0).dispatchEvent(new MouseEvent("click", { bubbles: true })); // it gives way to the open layer
  assert.deepEqual([drawing.arrows(".lit"), drawing.near(), drawing.isSaid()], [[], [], false]);
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
  const lit = (layer) => (over(drawing.plate("decoder", layer)), drawing.arrows(".lit"));
  assert.deepEqual(lit(0), ["decoder.sum > decoder.bottom"]);
  assert.deepEqual(lit(1), ["decoder.entry > decoder.*.self_attn"]);
  assert.deepEqual(lit(3), ["decoder.*.ln2 > decoder.above"]);
  assert.deepEqual(lit(4), ["decoder.top > linear"]);
  over(drawing.plate("encoder", 2));
  assert.deepEqual(drawing.arrows(".lit"), ["encoder.*.ln2 > encoder.above", "encoder.top > decoder.*.cross_attn"]);
  point(drawing.find("svg"), "mouseleave");
  assert.equal(drawing.findAll(".lit, .near, .pointing").length, 0);
  assert.ok(!drawing.isSaid());
});

test("how many layers there are stands outside of the frame, a plate's number in its middle, a sum close to its part", () => {
  const drawing = made(pair());
  const at = (element, name) => Number(element.getAttribute(name));
  for (const name of ["encoder", "decoder"]) {
    const { x, y, w, h } = rectOf(drawing.node(`${name}.*`));
    const [times, layer] = [".times", ".layer"].map((part) => drawing.node(`${name}.*`).querySelector(part));
    const isLeft = name === "encoder";
    assert.ok(isLeft ? at(times, "x") < x : at(times, "x") > x + w, name);
    assert.ok(Math.abs(at(times, "y") - y - h / 2) < 10);
    assert.equal(times.getAttribute("text-anchor"), isLeft ? "end" : "start");
    assert.ok(at(layer, "x") > x && at(layer, "x") < x + w && at(layer, "y") > y && at(layer, "y") < y + 30);
    const top = (part) => rectOf(drawing.node(`${name}.*.${part}`));
    const apart = (below, above) => top(below).y - top(above).y - top(above).h;
    assert.ok(apart("self_attn", "ln1") < apart(isLeft ? "ln1" : "ln_cross", "mlp"));
  }
  for (const plate of drawing.findAll(".plate")) {
    const [{ x, y, w, h }, text] = [rectOf(plate), plate.querySelector("text")];
    assert.equal(at(text, "x"), plate.dataset.stack === "encoder" ? rectOf(drawing.node("encoder.embed")).x + 98 : rectOf(drawing.node("decoder.embed")).x + 98);
    assert.ok(at(text, "x") > x && at(text, "x") < x + w && at(text, "y") > y && at(text, "y") < y + h);
  }
});

test("positions stand beside the sum on one side and segments on the other; those that act inside attention lead up beside the frame", () => {
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
  drawing.leave();
  const inside = pair();
  for (const one of inside.stacks) {
    one.before = [one.before[0], box(`${one.name}.pos`, "positions", { small: true })];
    inside.arrows = inside.arrows.filter(({ start, end }) => start !== `${one.name}.pos` && end !== `${one.name}.sum`);
    inside.arrows.push(flow(`${one.name}.pos`, `${one.name}.*.self_attn`, "inside"));
  }
  const other = made(inside);
  for (const name of ["encoder", "decoder"]) {
    const [frame, pos, attn] = ["*", "pos", "*.self_attn"].map((part) => rectOf(other.node(`${name}.${part}`)));
    const d = other.find(`.arrow.inside[data-start="${name}.pos"] path`).getAttribute("d");
    const x = name === "encoder" ? Number(d.match(/Q([\d.]+) /)[1]) - (frame.x + frame.w) : frame.x - Number(d.match(/Q([\d.]+) /)[1]);
    assert.ok(x > 0 && x < 30, "beside the frame");
    const [startX, startY] = numbers(d);
    assert.ok(startY === pos.y && startX > pos.x && startX < pos.x + pos.w);
    const end = Number(d.match(/H([\d.]+)$/)[1]);
    assert.equal(end, name === "encoder" ? attn.x + attn.w : attn.x);
    const levels = [...d.matchAll(/V([\d.]+)/g)].map(([, level]) => Number(level));
    assert.ok(levels.every((level) => level < startY && level > attn.y), "up, and not beyond");
    const turn = Number(d.match(/Q[\d.]+ ([\d.]+) /)[1]);
    assert.ok(levels.at(-1) > turn, "from below");
  }
});
