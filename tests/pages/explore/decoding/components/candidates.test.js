// The next-token distribution as a component: what each row says, what sliders change at once and when the server hears of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { announced, areSame, press, shown } from "../../../dom.js";
import { data, distribution, OFF } from "./distributions.js";
import { shownStep } from "../../../../../headlight/components/kit/channel.js";
import show from "../../../../../pages/explore/decoding/components/candidates/candidates.js";

const LOGITS = [1.2, 0.1, 3.1, -1.5, 2.4, 0.7, -0.3, 1.9, -2.2, 0.4, 1.5, -0.8, 2.8, -1.1, 2.1]; // 15 tokens; 2, 12, 4, 14 lead
const LEADERS = [2, 12, 4, 14, 7, 10, 0, 5, 9, 1, 6, 11, 13, 3, 8];
const usual = (more = {}) => distribution({ logits: LOGITS, next: 4, ...more });
const seen = (component) => component.findAll(".row").filter(({ hidden }) => !hidden);
const tokens = (component) => seen(component).map(({ dataset }) => Number(dataset.token));
const row = (component, token) => seen(component).find(({ dataset }) => dataset.token === String(token));
const text = (place, name) => place.querySelector(`.${name}`).textContent;
const marked = (component) => tokens(component).filter((token) => !row(component, token).querySelector(".mark").hidden);
const slider = (component, i) => component.findAll(".slider")[i];
const range = (component, i) => slider(component, i).querySelector(".range");
const field = (component, i) => slider(component, i).querySelector(".field");
const [TEMPERATURE, TOP_K, TOP_P, MIN_P] = [0, 1, 2, 3];

function drag(component, i, place) {
  range(component, i).value = place;
  range(component, i).dispatchEvent(new Event("input", { bubbles: true }));
}
const end = (input, type = "change") => input.dispatchEvent(new Event(type, { bubbles: true }));
function type(component, i, value) {
  field(component, i).value = value;
  end(field(component, i), "input");
}
const sum = (numbers) => numbers.reduce((one, other) => one + other, 0);
function shares(logits, temperature = 1) {
  const weights = logits.map((logit) => Math.exp(logit / temperature));
  return weights.map((weight) => weight / sum(weights));
}

test("each row says a token's rank, its raw probability, and what penalty and settings make of it", () => {
  const penalties = { 2: 1.5 };
  const candidates = shown(show, "candidates", data([usual({ penalties })], { sampling: { ...OFF, temperature: 0.5, top_k: 5 } }));
  const own = shares(LOGITS);
  const penalized = LOGITS.map((logit, token) => logit - (penalties[token] ?? 0));
  const order = [12, 4, 14, 7, 2];
  assert.deepEqual(tokens(candidates), [12, 4, 14, 7, 2, 10, 0, 5, 9, 1, 6, 11]);
  const kept = shares(order.map((token) => penalized[token]), 0.5);
  tokens(candidates).forEach((token, i) => {
    const it = row(candidates, token);
    const now = kept[i] ?? 0;
    assert.equal(text(it, "label"), `t${token}`);
    assert.equal(Number(text(it, "rank")), LEADERS.indexOf(token));
    assert.ok(Math.abs(it.style.getPropertyValue("--own") - own[token]) < 1e-6);
    assert.ok(Math.abs(it.style.getPropertyValue("--now") - now) < 1e-6);
    assert.equal(text(it, "own"), own[token] < 0.005 ? "<0.01" : own[token].toFixed(2));
    assert.equal(text(it, "now"), i < 5 ? (now < 0.005 ? "<0.01" : now.toFixed(2)) : "–");
    assert.deepEqual([it.classList.contains("out"), it.classList.contains("next"), it.classList.contains("apart")], [i >= 5, token === 4, false]);
    const words = it.getAttribute("aria-description");
    assert.ok(words.startsWith(`'t${token}', rank ${LEADERS.indexOf(token)}: raw ${own[token].toFixed(4)} (−`), words);
    assert.ok(words.includes(i < 5 ? `, with these settings ${now.toFixed(4)}` : ", filtered out"), words);
    assert.equal(words.endsWith(", chosen next"), token === 4);
  });
  assert.deepEqual(marked(candidates), [4]);
  const facts = text(candidates.root, "facts");
  const entropy = (of) => (-sum(of.map((share) => share * Math.log(share)))).toFixed(2);
  assert.ok(facts.startsWith(`Entropy: ${entropy(own)} nats raw, ${entropy(kept)} with these settings. 5 of 15 tokens kept, with `), facts);
  assert.ok(facts.endsWith(`${sum(order.map((token) => shares(penalized, 0.5)[token])).toFixed(2)} of the probability.`), facts);
});

test("a slider that is moved draws at once, and the server hears of it at its release, once", () => {
  const candidates = shown(show, "candidates", data([usual()], { revision: 6 }));
  drag(candidates, TEMPERATURE, 50);
  assert.ok(Math.abs(row(candidates, 2).style.getPropertyValue("--now") - shares(LOGITS, 0.5)[2]) < 1e-6);
  assert.equal(field(candidates, TEMPERATURE).value, "0.5");
  assert.equal(range(candidates, TEMPERATURE).getAttribute("aria-valuetext"), "0.5");
  assert.deepEqual(marked(candidates), [], "nobody knows which token comes next");
  drag(candidates, TOP_P, 59);
  assert.deepEqual(candidates.told, []);
  const wanted = { temperature: 0.5, top_k: 0, top_p: 0.6, min_p: 0 };
  for (const kind of ["pointerup", "change", "blur"]) {
    end(range(candidates, TOP_P), kind);
    assert.deepEqual(candidates.told, [["sampling", { revision: 7, value: wanted }]], kind);
  }
  candidates.update(data([usual({ next: 12 })], { revision: 6 })); // from before
  assert.equal(field(candidates, TEMPERATURE).value, "0.5");
  assert.deepEqual(marked(candidates), []);
  candidates.update(data([usual({ next: 12 })], { revision: 7, sampling: wanted }));
  assert.deepEqual(marked(candidates), [12]);
  candidates.update(data([usual()], { revision: 8 })); // set back elsewhere on the page
  assert.ok(areSame(candidates.findAll(".field").map(({ value }) => value), ["1", "", "1", "0"]));
  assert.ok(areSame(candidates.findAll(".range").map((one) => one.getAttribute("aria-valuetext")), ["1", "off", "1", "0"]));
  for (const kind of ["pointerup", "blur"]) end(range(candidates, TOP_P), kind);
  assert.equal(candidates.told.length, 1, "who changes nothing tells nothing");
});

test("a field takes what is a value, and is left alone while it is typed into", () => {
  const candidates = shown(show, "candidates", data([usual()]));
  for (const [i, typed, shown, place] of [
    [TEMPERATURE, "0.457", 0.457, 45], [TEMPERATURE, "2", 2, 200], [TEMPERATURE, "2.01", 2, 200],
    [TEMPERATURE, "0", 0, 0], [TEMPERATURE, "-0.1", 0, 0],
    [TOP_P, "1", 1, 99], [TOP_P, "1.1", 1, 99],
  ]) {
    type(candidates, i, typed);
    assert.equal(field(candidates, i).value, typed);
    assert.equal(range(candidates, i).value, String(place), `${typed} in field ${i}`);
    end(field(candidates, i));
    assert.equal(field(candidates, i).value, String(shown));
    const name = ["temperature", "top_k", "top_p", "min_p"][i];
    assert.equal(candidates.told.at(-1)[1].value[name], shown, `${typed} in field ${i}`);
  }
  for (const [typed, value, written] of [["3", 3, "3"], ["-1", 3, "3"], ["999999", 999_999, "999999"], ["", 0, ""]]) {
    type(candidates, TOP_K, typed);
    end(field(candidates, TOP_K));
    assert.equal(candidates.told.at(-1)[1].value.top_k, value, `${typed} as top-k`);
    assert.equal(field(candidates, TOP_K).value, written);
  }
  const top = field(candidates, TOP_K);
  type(candidates, TOP_K, "5");
  Object.defineProperty(top, "validity", { configurable: true, value: { badInput: true } }); // what is typed is no number yet
  type(candidates, TOP_K, "");
  end(top);
  delete top.validity;
  assert.deepEqual([top.value, candidates.told.at(-1)[1].value.top_k], ["5", 5]);
  type(candidates, TOP_K, "");
  type(candidates, TOP_P, "0.5");
  drag(candidates, MIN_P, 20);
  type(candidates, TOP_P, "0.50");
  assert.equal(field(candidates, TOP_P).value, "0.50");
  drag(candidates, MIN_P, 30);
  assert.equal(field(candidates, TOP_P).value, "0.5", "another slider ends the edit of the field");
});

test("the button beside a slider sets it back, tells so, and goes", () => {
  const candidates = shown(show, "candidates", data([usual()], { sampling: { temperature: 0.7, top_k: 5, top_p: 0.8, min_p: 0 } }));
  const away = () => candidates.findAll(".back").map((back) => back.classList.contains("away"));
  assert.deepEqual(away(), [false, false, false, true]);
  candidates.findAll(".back")[TOP_K].click();
  assert.deepEqual(candidates.told.map(([, { value }]) => value), [{ temperature: 0.7, top_k: 0, top_p: 0.8, min_p: 0 }]);
  assert.deepEqual(away(), [false, true, false, true]);
  assert.equal(candidates.root.getRootNode().activeElement, range(candidates, TOP_K));
  assert.equal(field(candidates, TOP_K).value, "");
  let nKeys = 0;
  candidates.root.addEventListener("keydown", () => (nKeys += 1));
  press(range(candidates, TOP_K), "ArrowLeft");
  assert.equal(nKeys, 0, "the page's own keys hear nothing of a slider's");
});

test("the slider of top-k knows the vocabulary that is there, also when another model comes", () => {
  const candidates = shown(show, "candidates", data([usual()]));
  const small = Number(range(candidates, TOP_K).max);
  candidates.update(data([distribution({ logits: Array.from({ length: 900 }, (_, i) => -i / 50) })]));
  assert.ok(Number(range(candidates, TOP_K).max) > 2 * small);
  assert.equal(range(candidates, TOP_K).value, range(candidates, TOP_K).max);
});

test("the next token is marked where its settings hold, at temperature 0 in any case, and has a row wherever it stands", () => {
  const candidates = shown(show, "candidates", data([usual({ next: 8 })]));
  assert.deepEqual(tokens(candidates), [...LEADERS.slice(0, 12), 8]);
  assert.ok(row(candidates, 8).classList.contains("apart") && row(candidates, 8).classList.contains("next"));
  assert.deepEqual(marked(candidates), [8]);
  drag(candidates, TEMPERATURE, 0);
  assert.deepEqual(tokens(candidates), LEADERS.slice(0, 12));
  assert.deepEqual(marked(candidates), [2]);
  drag(candidates, TEMPERATURE, 100); // as the server has it
  assert.deepEqual(marked(candidates), [8]);
  const tied = distribution({ logits: [1, 3, 3, 0], next: null });
  candidates.update(data([tied], { revision: 5, sampling: { ...OFF, temperature: 0 } }));
  assert.deepEqual(marked(candidates), [], "the server does not know it: nothing is written there");
  candidates.update(data([tied], { revision: 6 }));
  drag(candidates, TEMPERATURE, 0);
  assert.deepEqual(marked(candidates), [1], "the lowest of equal ones");
});

test("more tokens are shown when asked for, and fewer again", () => {
  const more = (component) => component.find(".more");
  const candidates = shown(show, "candidates", data([usual({ nMost: 14 })]));
  assert.deepEqual([tokens(candidates).length, more(candidates).textContent, more(candidates).hidden], [12, "Show 2 more", false]);
  more(candidates).click();
  assert.deepEqual([tokens(candidates), more(candidates).textContent], [LEADERS.slice(0, 14), "Show fewer"]);
  press(seen(candidates)[0], "End");
  assert.equal(candidates.root.getRootNode().activeElement, seen(candidates)[13]);
  candidates.root.getRootNode().activeElement.blur();
  more(candidates).click();
  assert.deepEqual(tokens(candidates), LEADERS.slice(0, 12));
  assert.ok(areSame(candidates.findAll('.row:not([tabindex="-1"])'), [seen(candidates)[0]]));
  press(seen(candidates)[0], "End");
  assert.equal(candidates.root.getRootNode().activeElement, seen(candidates)[11], "the last one that is seen");
  more(candidates).click();
  candidates.update(data([usual({ nMost: 13 })], { revision: 1 }));
  assert.deepEqual([tokens(candidates).length, more(candidates).textContent], [13, "Show fewer"]);
  candidates.update(data([usual({ nMost: 12 })], { revision: 1 }));
  assert.ok(more(candidates).hidden);
  assert.equal(tokens(candidates).length, 12);
});

test("a token is chosen by a click or by Enter, at the step that is shown, and told by its words", () => {
  const candidates = shown(show, "candidates", data([usual({ version: "here" })]));
  seen(candidates)[1].querySelector(".label").click();
  assert.deepEqual(candidates.told, [["token", { token: 12, version: "here" }]]);
  assert.match(announced(), /^Chosen: 't12', rank 1: raw/);
  press(seen(candidates)[1], "ArrowDown");
  press(candidates.root.getRootNode().activeElement, "Enter");
  assert.deepEqual(candidates.told.at(-1), ["token", { token: 4, version: "here" }]);
  assert.match(announced(), /'t4'/);
  for (const [key, token] of [["ArrowUp", 12], ["Home", 2], ["ArrowUp", 2], ["End", 11], ["ArrowDown", 11]]) {
    press(candidates.root.getRootNode().activeElement, key);
    assert.equal(candidates.root.getRootNode().activeElement.dataset.token, String(token), key);
  }
});

test("a step that is shown elsewhere is shown here at once where it is there, with its own name and version", () => {
  const other = [...LOGITS].reverse();
  const nearby = [usual({ n: 4, name: "at 4" }), usual({ logits: other, next: 0, n: 5, name: "at 5" })];
  const candidates = shown(show, "candidates", data(nearby));
  const name = () => candidates.root.getAttribute("aria-label");
  assert.equal(name(), "Next-token distribution at 4");
  shownStep.send(5);
  assert.equal(name(), "Next-token distribution at 5");
  assert.equal(tokens(candidates)[0], 12);
  assert.deepEqual(marked(candidates), [0]);
  assert.ok(Math.abs(row(candidates, 12).style.getPropertyValue("--own") - shares(other)[12]) < 1e-6);
  seen(candidates)[0].click();
  assert.deepEqual(candidates.told, [["token", { token: 12, version: "v5" }]]);
  shownStep.send(7);
  assert.equal(name(), "Next-token distribution at 5");
  shownStep.send(4);
  assert.equal(tokens(candidates)[0], 2);
  shownStep.send(5);
  candidates.update(data([usual({ n: 4 })], { revision: 1 }));
  assert.equal(name(), "Next-token distribution");
  assert.equal(tokens(candidates)[0], 2);
  candidates.update(data(nearby, { revision: 1 }));
  candidates.leave();
  shownStep.send(5);
  assert.equal(name(), "Next-token distribution at 4", "what has left hears nothing");
});
