// The stage as a whole component: what it draws, where it zooms, how it steps, and what it tells the server.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { place, point, prefer, press } from "../../../dom.js";
import { data, stageOf, overview, SIDES } from "./made_stage.js";
import { placeOf } from "../../../../../pages/learn/start/components/stage/guide.js";
import { wordsOf } from "../../../../../pages/learn/start/components/stage/words.js";

mock.timers.enable({ apis: ["setTimeout"] });
beforeEach(() => prefer("(prefers-reduced-motion: reduce)"));

const labels = (stage, i = 0) => [...stage.findAll(".tokens")[i].children].filter((item) => !item.matches(".later")).map((item) => item.querySelector(".label").textContent);
const last = (stage, name) => stage.told.filter(([told]) => told === name).at(-1)?.[1];

test("the overview has a lane for each stack, with tokens, ids, panels, and a frame around each block", () => {
  const stage = stageOf({ step: 3 });
  assert.deepEqual(stage.findAll(".lane").map(({ dataset }) => dataset.stack), ["encoder", "decoder"]);
  assert.deepEqual(stage.findAll(".token .id").map(({ textContent }) => Number(textContent)), [...SIDES.source.ids, ...SIDES.target.ids]);
  assert.deepEqual(stage.findAll(".block-title").map(({ dataset }) => dataset.zoom), ["encoder.0", "decoder.0"]);
  assert.deepEqual([".panel", ".map", ".flow"].map((selector) => stage.findAll(selector).length), [9, 6, 1]); // the memory flows
});

test("a step shows the tokens that are there, marks the row that is read, and names what comes next", () => {
  const stage = stageOf({ step: 1 });
  assert.deepEqual(labels(stage, 1), ["<bos>", "le"]);
  assert.equal(stage.find(".token.current .label").textContent, "le");
  assert.match(stage.find(".place").textContent, /1 generated; next: “chat”/);
  stage.find(".forward").click();
  assert.deepEqual(labels(stage, 1).slice(0, 3), ["<bos>", "le", "chat"]);
  assert.equal(last(stage, "step").value, 2);
  assert.equal(stage.find(".bar.next .label").textContent, "t2"); // the distribution of that step
  stage.find(".forward").click();
  assert.equal(stage.find(".forward").getAttribute("aria-disabled"), "true");
  assert.match(stage.find(".place").textContent, /3 generated; next: “<eos>”, the end/);
  stage.find(".begin").click();
  assert.equal(last(stage, "step").value, 0);
  assert.equal(stage.find(".back").getAttribute("aria-disabled"), "true");
});

test("it plays to the end, and then from the beginning; a click elsewhere stops it", () => {
  const stage = stageOf({ step: 2 });
  stage.find(".play").click();
  assert.equal(last(stage, "step").value, 3);
  mock.timers.tick(2000);
  stage.find(".play").click();
  assert.equal(last(stage, "step").value, 0);
  mock.timers.tick(1600);
  assert.equal(last(stage, "step").value, 1);
  stage.find(".back").click();
  mock.timers.tick(9000);
  assert.equal(last(stage, "step").value, 0);
});

test("keys go along the tokens, but not where a slider or a button has them", () => {
  const stage = stageOf({ step: 1 });
  press(stage.root, "ArrowRight");
  assert.equal(last(stage, "step").value, 2);
  press(stage.root, "Home");
  assert.equal(last(stage, "step").value, 0);
  press(stage.find(".forward"), " "); // clicks it, and plays nothing
  assert.deepEqual([last(stage, "step").value, stage.find(".play").getAttribute("aria-label")], [1, "Play"]);
  const n = stage.told.length;
  press(stage.find(".range"), "ArrowRight");
  press(stage.find(".bar"), "ArrowDown");
  assert.equal(stage.told.length, n);
});

test("what is clicked is zoomed in on: a block, an attention of it, a head; Escape and the crumbs lead back", () => {
  const stage = stageOf();
  stage.findAll(".block-title")[1].click();
  assert.equal(last(stage, "zoom").value, "decoder.0");
  press(stage.root, "Escape"); // there is nothing above
  assert.equal(stage.told.filter(([name]) => name === "zoom").length, 1);
  stage.leave();
  const block = stageOf({ level: "block" });
  block.findAll(".map")[2].click();
  assert.equal(last(block, "zoom").value, "decoder.0.cross_attn");
  press(block.root, "Escape");
  assert.equal(last(block, "zoom").value, "");
  block.leave();
  const attention = stageOf({ level: "attention" });
  attention.findAll(".map")[1].click();
  assert.equal(last(attention, "zoom").value, "decoder.0.cross_attn.1");
  attention.findAll(".crumb")[1].click();
  assert.equal(last(attention, "zoom").value, "decoder.0");
});

test("a head that was clicked is marked among the heads of its attention, until a block or an attention is opened by name", () => {
  const stage = stageOf();
  const marked = () => stage.findAll(".map").map((map) => map.getAttribute("aria-current") === "true");
  stage.findAll(".map")[5].click(); // cross-attention, head 1
  assert.deepEqual(marked(), Array(6).fill(false)); // the overview has no names of heads
  stage.update(data({ level: "block", revision: 1 }));
  assert.deepEqual(marked(), [false, false, false, true]);
  stage.findAll(".map")[2].click();
  stage.update(data({ level: "attention", revision: 2 }));
  assert.deepEqual(marked(), [true, false]);
  press(stage.root, "Escape");
  stage.update(data({ level: "block", revision: 3 }));
  assert.deepEqual(marked(), [false, false, true, false]);
  stage.find(".block-title").click();
  stage.update(data({ level: "attention", revision: 4 }));
  assert.deepEqual(marked(), [false, false]);
});

test("the part under the pointer is described in words, and its row is marked on the whole side", () => {
  const stage = stageOf({ step: 3 });
  const canvas = stage.findAll(".lane")[1].querySelector(".panel.vectors canvas");
  const { width, height } = canvas.picture;
  place(canvas, { width, height });
  point(canvas, "pointermove", { clientX: (2.5 * width) / 8, clientY: (1.5 * height) / 4 });
  assert.match(stage.find(".says").textContent, /Embedding, token 1 “le”, dimension 2: /);
  assert.deepEqual(stage.findAll(".token.pointed .label").map(({ textContent }) => textContent), ["le"]);
  point(stage.find(".lanes"), "pointerleave");
  assert.equal(stage.findAll(".token.pointed").length, 0);
});

test("a pattern says at the pointer which query and key a weight belongs to, and marks both tokens", () => {
  const stage = stageOf({ level: "attention", step: 3 });
  const canvas = stage.find(".map canvas");
  const { width, height, quantity } = canvas.picture;
  place(canvas, { width, height });
  point(canvas, "pointermove", { clientX: (1.5 * width) / 3, clientY: (2.5 * height) / 4 });
  const lines = () => [...stage.find(".tip").children].map(({ textContent }) => textContent);
  assert.deepEqual(lines(), ["from query 2 “chat”", "to key 1 “cat”", `Head 0: weight ${quantity.values[2 * 3 + 1].toFixed(2)}`]);
  assert.deepEqual(new Set(stage.findAll(".token.pointed .label").map(({ textContent }) => textContent)), new Set(["chat", "cat"]));
  press(stage.root, "Escape");
  assert.equal(stage.findAll(".token.pointed").length, 0);
});

test("an attention’s patterns become lines on demand, and Escape closes them before it zooms out", async () => {
  const stage = stageOf({ level: "attention", step: 1 });
  const zooms = () => stage.told.filter(([name]) => name === "zoom").length;
  stage.find(".as-lines").click();
  await import("../../../../../pages/learn/start/components/stage/as_lines.js");
  await new Promise(setImmediate);
  const drawn = () => stage.find(".lined").shadowRoot;
  const words = (side) => [...drawn().querySelectorAll(`.column.${side} .word`)].map(({ textContent }) => textContent);
  assert.deepEqual([words("query"), words("key")], [["<bos>", "le"], SIDES.source.labels]);
  assert.equal(drawn().querySelectorAll(".item").length, 2); // a color for each head
  stage.find(".as-lines").focus();
  press(stage.find(".as-lines"), "Escape");
  assert.deepEqual([stage.find(".lined").hidden, stage.find(".lanes").hidden, zooms()], [true, false, 0]);
  press(stage.find(".as-lines"), "Escape");
  assert.deepEqual([last(stage, "zoom").value, zooms()], ["decoder.0", 1]);
});

test("Escape zooms out wherever the focus is, unless something else on the page has a use for it", () => {
  const stage = stageOf({ level: "block" });
  const zooms = () => stage.told.filter(([name]) => name === "zoom").length;
  const field = document.body.appendChild(document.createElement("input"));
  press(field, "Escape");
  field.remove();
  const open = document.body.appendChild(document.createElement("div"));
  open.setAttribute("role", "dialog");
  press(document.body, "Escape");
  open.remove();
  assert.equal(zooms(), 0);
  press(document.body, "Escape");
  assert.deepEqual([zooms(), last(stage, "zoom").value], [1, ""]);
});

test("of a masked model the player and the prediction speak of blanks", () => {
  const stage = stageOf({ lanes: overview("encoder"), isFilling: true, step: 0 });
  const words = stage.root.textContent + stage.findAll("[aria-label], [title]").map((one) => one.ariaLabel + one.title).join();
  assert.match(stage.find(".place").textContent, /0 filled; most certain: “t0”/);
  assert.doesNotMatch(words, /[Nn]ext token|generate/i);
});

const followed = (stage, kind) => stage.findAll(`.followed .${kind}`).length;
const marked = (stage) => stage.findAll(".token.source .label").map(({ textContent }) => textContent);

test("the row of the prediction is followed to the tokens that it comes from, and through which heads", () => {
  const stage = stageOf({ step: 2 });
  assert.match(stage.find(".sources").textContent, /^The row of “chat” predicts the token after it: “\.” ← “the” 0\.38, “chat” 0\.25, “cat” 0\.12/);
  assert.deepEqual([followed(stage, "into"), followed(stage, "from"), followed(stage, "thread")], [2, 0, 3]);
  assert.deepEqual(stage.findAll(".map.writes").map((map) => [map.dataset.zoom, map.getAttribute("aria-label")]), [
    ["encoder.0", "Zoom in: Attention, head 1"],
    ["decoder.0", "Zoom in: Attention, head 1"],
  ]);
  assert.deepEqual(marked(stage), ["the", "cat", "chat"]);
  const less = stageOf({ step: 2, lessProbable: [2] });
  assert.match(less.find(".sources").textContent, /predicts the token after it; generated here: “\.” ←/);
  assert.deepEqual(less.findAll(".less-probable .label").map(({ textContent }) => textContent), ["."]);
  less.leave();
  stage.find(".back").click(); // nothing reaches that row
  assert.deepEqual([followed(stage, "into"), followed(stage, "thread"), marked(stage)], [0, 1, []]);
});

test("each zoom level says what the followed row predicts, where it is in sight", () => {
  const words = (how) => stageOf({ step: 1, ...how }).find(".sources").textContent;
  const expected = "The row of “le” predicts the token after it (here “chat”)";
  assert.deepEqual([words({ level: "block" }), words({ level: "attention" })], [expected, expected]);
  assert.equal(words({ level: "block", lanes: overview("encoder") }), "");
  assert.match(words({ lanes: overview("encoder"), isFilling: true, step: 0 }), /^The row of the blank predicts the token that fills it/);
});

test("the focus on a token, by a key or a tap, does what pointing does, until Escape or until it leaves", () => {
  const stage = stageOf({ step: 2 });
  const [the, cat] = stage.findAll(".tokens")[0].children;
  const zooms = () => stage.told.filter(([name]) => name === "zoom").length;
  assert.deepEqual([the.tabIndex, cat.tabIndex], [0, -1]);
  the.focus();
  press(the, "ArrowDown");
  assert.match(stage.find(".sources").textContent, /^State of “cat” ← “the” 0\.75/);
  stage.update(data({ step: 2, revision: 5 })); // the same token has the focus
  assert.match(stage.find(".sources").textContent, /^State of “cat”/);
  const again = stage.findAll(".tokens")[0].children[1];
  press(again, "Escape");
  assert.deepEqual([stage.findAll(".token.pointed").length, zooms()], [0, 0]);
  again.blur();
  again.focus();
  again.blur();
  assert.doesNotMatch(stage.find(".sources").textContent, /^State of/);
});

test("a list of tokens is beside rows that are tokens, and beside no grid of maps", () => {
  const order = (nHeads) => {
    const [pair] = overview("decoder");
    const [embedding, , cross] = pair.panels;
    const lanes = [{ ...pair, panels: [{ ...embedding, rows: "source", size: [3, 8], group: "" }, { ...cross, nHeads, size: [nHeads, 4, 3], group: "" }, embedding] }];
    const parts = stageOf({ level: "attention", lanes }).find(".strip").children;
    return [...parts].filter((part) => part.matches(".tokens, .panel")).map(({ classList }) => classList[1] ?? classList[0]);
  };
  assert.deepEqual([order(1), order(16)], [
    ["pinned", "vectors", "tokens", "heads", "vectors"],
    ["pinned", "vectors", "heads", "tokens", "vectors"],
  ]);
});

test("pointing at a token shows what feeds it, and what it feeds as far as that is generated", () => {
  const stage = stageOf({ step: 2 });
  point(stage.findAll(".tokens")[0].children[1], "pointermove");
  assert.match(stage.find(".sources").textContent, /^State of “cat” ← “the” 0\.75, “cat” 0\.25/);
  assert.deepEqual([followed(stage, "into"), followed(stage, "from")], [1, 1]);
  stage.find(".forward").click();
  assert.deepEqual([followed(stage, "into"), followed(stage, "from")], [1, 2]);
  point(stage.find(".lanes"), "pointerleave");
  assert.doesNotMatch(stage.find(".sources").textContent, /State of/);
  stage.update(data({ level: "block", revision: 1 }));
  assert.equal(followed(stage, "into"), 0);
});

test("a slider changes the bars at once, and the server hears of it at its release", () => {
  const stage = stageOf();
  const shares = () => stage.findAll(".bar").map((bar) => bar.querySelector(".share").textContent);
  assert.deepEqual(shares(), ["0.60", "0.20", "0.10", "0.06", "0.03", "0.01"]);
  const [temperature, topK] = stage.findAll(".range");
  temperature.value = "200";
  temperature.dispatchEvent(new Event("input", { bubbles: true }));
  const weights = [0.6, 0.2, 0.1, 0.06, 0.03, 0.01].map(Math.sqrt);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  assert.deepEqual(shares(), weights.map((weight) => (weight / total).toFixed(2)));
  assert.equal(last(stage, "sampling"), undefined);
  topK.value = "1"; // the second stop: 2
  topK.dispatchEvent(new Event("input", { bubbles: true }));
  topK.dispatchEvent(new Event("change", { bubbles: true }));
  assert.deepEqual(shares().slice(2), ["–", "–", "–", "–"]);
  assert.deepEqual(last(stage, "sampling").value, { temperature: 2, top_k: 2, top_p: 1, min_p: 0 });
});

test("greedily the next token is known at every temperature; drawn, it is not until the server has answered", () => {
  const stage = stageOf({ step: 1 });
  const slide = (value) => {
    stage.find(".range").value = String(value);
    stage.find(".range").dispatchEvent(new Event("input", { bubbles: true }));
  };
  const choose = (value) => stage.find(`.choice [value=${value}]`).dispatchEvent(new Event("change"));
  const next = () => stage.find(".bar.next .label")?.textContent;
  slide(180);
  assert.equal(next(), "t1");
  choose("sampling");
  assert.deepEqual([next(), last(stage, "decoding").value], [undefined, "sampling"]);
  choose("greedy");
  assert.equal(next(), "t1");
  stage.update(data({ step: 1, revision: 9, decoding: "sampling" }));
  assert.deepEqual([next(), stage.find("[value=sampling]").checked], ["t1", true]); // the server's draw
  slide(180);
  assert.equal(next(), undefined);
});

test("the reason for opening at a step is shown there, and nowhere else", () => {
  const stage = stageOf({ step: 1 });
  const isShown = () => !stage.find(".reason").matches(".away");
  assert.deepEqual([isShown(), stage.find(".reason").textContent], [true, "It is least certain here."]);
  stage.find(".forward").click();
  assert.equal(isShown(), false);
});

test("a chosen token is sent with its step; an older answer of the server does not take a step back", () => {
  const stage = stageOf({ step: 1 });
  stage.findAll(".bar")[2].click();
  assert.deepEqual(last(stage, "token"), { token: 3, step: 1 });
  stage.find(".forward").click();
  stage.update(data({ step: 1 })); // of before the step
  assert.deepEqual(labels(stage, 1).slice(0, 3), ["<bos>", "le", "chat"]);
  stage.update(data({ step: 1, rows: [0, 1], nextLabels: ["le", "chat"] })); // of a shorter text
  assert.match(stage.find(".place").textContent, /1 generated; next: “chat”/);
  stage.update(data({ step: 0, revision: 99 }));
  assert.equal(stage.find(".token.current .label").textContent, "<bos>");
});

test("an encoder fills a blank of the whole text, and a second click fills no other one", () => {
  const stage = stageOf({ lanes: overview("encoder"), isFilling: true, step: 0, nFilled: 2 });
  assert.deepEqual(labels(stage), SIDES.source.labels);
  stage.find(".forward").click();
  stage.find(".forward").click();
  assert.deepEqual(stage.told.filter(([name]) => name === "token").map(([, sent]) => sent.step), [2, 2]);
});

test("where only the stage stops, and the text has not ended, it can be continued", () => {
  const open = stageOf({ step: 3, hasEnded: false });
  assert.doesNotMatch(open.find(".place").textContent, /the end/);
  assert.equal(open.find(".forward").getAttribute("aria-disabled"), "false");
  open.find(".forward").click();
  assert.deepEqual(last(open, "token"), { token: 3, step: 3 });
  const full = stageOf({ step: 3, hasEnded: false, nextLabels: ["le", "chat", ".", ""], ended: "All positions are used." });
  assert.equal(full.find(".place").textContent, "3 generated"); // the prediction has the reason
  assert.equal(full.find(".forward").getAttribute("aria-disabled"), "true");
});

test("another model, with other stacks, takes the place of the one before at another zoom level", () => {
  const stage = stageOf();
  const sides = { target: SIDES.target };
  stage.update(data({ level: "block", lanes: overview("decoder").map((lane) => ({ ...lane, panels: lane.panels.filter(({ columns }) => columns !== "source") })), sides, revision: 3 }));
  assert.deepEqual(stage.findAll(".lane").map(({ dataset }) => dataset.stack), ["decoder"]);
});

test("the focus stays on the stage when its parts are drawn again, so that Escape is heard", () => {
  const stage = stageOf();
  const focused = () => stage.root.getRootNode().activeElement;
  stage.findAll(".block-title")[1].focus();
  stage.update(data({ step: 2, revision: 1 }));
  assert.equal(focused().dataset.zoom, "decoder.0"); // the same block
  stage.update(data({ level: "attention", revision: 2 }));
  press(focused(), "Escape");
  assert.equal(last(stage, "zoom").value, "decoder.0");
  stage.update(data({ level: "block", revision: 7 }));
  stage.find(".map").focus();
  stage.update(data({ revision: 8 })); // zoomed out: on what leads there again
  assert.equal(focused().dataset.zoom, "decoder.0");
});

test("the focus stays on a token of the target where the source has the same one at that position", () => {
  const sides = { ...SIDES, target: { ...SIDES.target, labels: [...SIDES.source.labels, "."], ids: [...SIDES.source.ids, 9] } };
  const stage = stageOf({ sides });
  stage.findAll(".tokens")[1].children[1].focus();
  stage.update(data({ sides, step: 2, revision: 1 }));
  assert.equal(stage.root.getRootNode().activeElement, stage.findAll(".tokens")[1].children[1]);
});

test("a cell says its token and dimension, of vectors by head which head, and of a pattern its query and key, or that it is masked", () => {
  const panel = { title: "Values", shape: "vectors", size: [4, 8], nHeads: 1, rows: "target", columns: "" };
  const ofHeads = { ...panel, shape: "head vectors", nHeads: 2 };
  const pattern = { ...panel, title: "Cross-attention", shape: "heads", columns: "source" };
  for (const [of, at, value, words] of [
    [panel, { row: 2, column: 5 }, -0.3456, "Values, token 2 “chat”, dimension 5: −0.35"],
    [ofHeads, { row: 0, column: 5 }, 1, "Values, token 0 “<bos>”, head 1, dimension 1: 1.00"],
    [pattern, { head: 3, row: 1, column: 1 }, 0.5, "Cross-attention, head 3: query 1 “le” → key 1 “cat”: 0.50"],
    [pattern, { head: 0, row: 1, column: 1 }, -Infinity, "Cross-attention, head 0: query 1 “le” → key 1 “cat”: masked"],
  ]) assert.equal(wordsOf(of, SIDES, at, value), words);
});

const KEPT = "headlight-guide";
const caption = (stage) => (stage.find(".guide").hidden ? "" : stage.find(".guide .words").textContent);

test("a guided minute has three captions, ends at the Tour, and does not come up again", () => {
  localStorage.removeItem(KEPT);
  const stage = stageOf();
  const next = () => stage.find(".guide .next").click();
  assert.match(caption(stage), /tokens that contribute most/);
  assert.ok(stage.find(".sources").matches(".guided") && stage.find(".guide .tour").hidden);
  stage.findAll(".token")[1].focus(); // what it asks for
  assert.match(caption(stage), /generates the next token/);
  stage.find(".forward").click(); // what it asks for
  assert.match(caption(stage), /its name to zoom in/);
  assert.equal(stage.find(".guide .tour").hidden, false);
  assert.equal(stage.find(".guided").dataset.zoom, "decoder.0");
  stage.find(".guide .next").focus();
  next();
  assert.deepEqual([caption(stage), stage.findAll(".guided").length, stage.root.getRootNode().activeElement], ["", 0, stage.root]);
  stage.leave();
  assert.equal(caption(stageOf()), "");
});

test("a caption stays within the lanes, beside the prediction, and in sight", () => {
  const within = { left: 300, right: 1110, top: 250, bottom: 840 };
  const size = { width: 320, height: 130 };
  const at = (left, bottom, more = {}) => ({ within, of: { left, right: left + 40, top: bottom - 20, bottom }, isAbove: false, height: 900, ...more });
  assert.deepEqual(placeOf(size, at(380, 245)), { left: 390, top: 255 });
  assert.deepEqual(placeOf(size, at(1390, 210)), { left: 790, top: 250 }); // of the player
  assert.deepEqual(placeOf(size, at(700, 800, { height: 768 })), { left: 710, top: 628 }); // below the fold
  const firstRow = { left: 300, right: 1500, top: 200, bottom: 240 };
  assert.deepEqual(placeOf(size, at(300, 265, { isAbove: true, within: firstRow })), { left: 1500 - size.width, top: 190 - size.height }); // the stage stays free
  const phone = { left: 16, right: 374, top: 405, bottom: 1000 };
  assert.deepEqual(placeOf(size, at(300, 420, { within: phone, height: 844 })), { left: 54, top: 430 });
});

test("Escape skips the guided minute for good, and a link with a state begins none", () => {
  localStorage.removeItem(KEPT);
  const { history } = globalThis;
  history.replaceState(null, "", "?step=2");
  assert.equal(caption(stageOf()), "");
  history.replaceState(null, "", "?language=de");
  const stage = stageOf();
  assert.notEqual(caption(stage), "");
  press(stage.root, "Escape");
  assert.equal(caption(stage), "");
  history.replaceState(null, "", "/");
  assert.equal(caption(stageOf()), "");
  localStorage.removeItem(KEPT);
});
