// The player of a text that is being written: what is shown at once, what the page is requested, and when.

import assert from "node:assert/strict";
import { test } from "node:test";

import { announced, point, press } from "../../../dom.js";
import { given, open, wait, written } from "./texts.js";
import { shownStep } from "../../../../../headlight/components/kit/channel.js";
import show from "../../../../../pages/explore/decoding/components/writing/writing.js";

const TOKENS = [given("<bos>"), given("le"), ...["a", "b", "c", "d", "e"].map((label) => written(label, 0.5))];
const N = 5; // that are written
const state = (more = {}) => ({ source: ["x", "y"], tokens: TOKENS, nGiven: 2, at: N, ...more });
const chips = (writing) => writing.findAll('.chip[data-side="output"]');
const stepOf = (writing) => chips(writing).findIndex((chip) => chip.hasAttribute("aria-current")) - 1; // how many are written there
const click = (writing, name) => writing.find(`.player .${name}`).click();
const isDisabled = (writing) => ["begin", "back", "play", "forward", "end"].filter((name) => writing.find(`.player .${name}`).getAttribute("aria-disabled") === "true");
const isPlaying = (writing) => writing.find(".player .play").getAttribute("aria-label") === "Pause";
const isBusy = (writing) => !writing.find(".busy").hidden;
const text = (writing, name) => writing.find(`.${name}`).textContent;

/** A test with its own clock: begin(state) opens a writing; pass(ms) lets time go by. */
function timed(name, check) {
  test(name, (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    check((more) => open(show, state(more)), (ms) => wait(t.mock.timers, ms));
  });
}

timed("each way to another step shows it at once, tells those who show steps, and asks the page", (begin) => {
  const ways = [
    [(w) => click(w, "begin"), 0], [(w) => click(w, "back"), 2], [(w) => click(w, "forward"), 4], [(w) => click(w, "end"), 5],
    [(w) => press(w.root, "Home"), 0], [(w) => press(w.root, "ArrowLeft"), 2], [(w) => press(w.root, "ArrowRight"), 4], [(w) => press(w.root, "End"), 5],
    [(w) => chips(w)[1].click(), 0], [(w) => chips(w)[3].click(), 2], [(w) => press(chips(w)[6], "Enter"), 5], [(w) => press(chips(w)[4], "ArrowLeft"), 2],
  ];
  const heard = [];
  const end = new AbortController();
  shownStep.listen((n) => heard.push(n), end.signal);
  for (const [go, n] of ways) {
    const writing = begin({ at: 3, ended: "It is over.", revision: 7 });
    go(writing);
    assert.equal(stepOf(writing), n, String(go));
    assert.deepEqual(writing.told, [["at", { revision: 8, value: n }]]);
    assert.equal(heard.at(-1), n);
    assert.ok(isBusy(writing));
    writing.answer();
    assert.ok(!isBusy(writing) && !isPlaying(writing));
    assert.equal(stepOf(writing), n);
    assert.equal(writing.told.length, 1);
  }
  end.abort();
});

timed("one step is requested at a time, then the last one wanted meanwhile", (begin) => {
  const writing = begin();
  for (let i = 0; i < 3; i++) press(writing.root, "ArrowLeft");
  assert.equal(stepOf(writing), 2);
  assert.deepEqual(writing.requests(), [4]);
  writing.answer();
  assert.equal(stepOf(writing), 2, "the answer does not lead back");
  assert.deepEqual(writing.requests(), [4, 2]);
  writing.answer();
  assert.deepEqual([stepOf(writing), writing.requests(), isBusy(writing)], [2, [4, 2], false]);
  press(writing.root, "ArrowRight");
  press(writing.root, "ArrowLeft");
  writing.answer(); // 3 comes, while 2 is wanted
  assert.deepEqual([stepOf(writing), writing.requests().slice(2)], [2, [3, 2]]);
});

timed("a step after the last token is written, one by one or to the end of the text", (begin) => {
  const writing = begin({ most: 7 });
  press(writing.root, "ArrowRight");
  press(writing.root, "ArrowRight");
  assert.deepEqual([stepOf(writing), writing.requests()], [5, [6]]);
  writing.answer();
  assert.deepEqual([stepOf(writing), writing.requests()], [6, [6, 7]]);
  writing.answer();
  assert.deepEqual([stepOf(writing), isBusy(writing), text(writing, "says")], [7, false, "It is over."]);
  assert.equal(announced(), "It is over.");
  press(writing.root, "ArrowRight");
  assert.deepEqual([stepOf(writing), writing.requests()], [7, [6, 7]], "there is nothing after it");
  assert.deepEqual(isDisabled(writing), ["forward", "end"]);
  const shorter = begin({ most: 6 });
  for (let i = 0; i < 3; i++) press(shorter.root, "ArrowRight");
  shorter.answer(); // the text is over: the goal is given up
  assert.deepEqual([stepOf(shorter), shorter.requests(), isBusy(shorter)], [6, [6], false]);
  press(shorter.root, "ArrowLeft");
  assert.deepEqual(shorter.requests(), [6, 5]);
});

timed("playing writes the first token at once and the others at the chosen speed, until the text is over", (begin, pass) => {
  const writing = begin({ most: 9 });
  click(writing, "play");
  assert.ok(isPlaying(writing));
  pass(10);
  assert.deepEqual(writing.requests(), [6]);
  pass(100);
  writing.answer();
  pass(200);
  assert.deepEqual(writing.requests(), [6], "less than a third of a second since the request");
  pass(60);
  assert.deepEqual(writing.requests(), [6, 7]);
  pass(500);
  writing.answer(); // which took longer
  pass(10);
  assert.deepEqual(writing.requests(), [6, 7, 8]);
  writing.find(".speed").value = "0";
  writing.find(".speed").dispatchEvent(new Event("change"));
  writing.answer();
  pass(970);
  assert.deepEqual(writing.requests(), [6, 7, 8]);
  pass(40);
  assert.deepEqual(writing.requests(), [6, 7, 8, 9]);
  writing.answer();
  assert.ok(!isPlaying(writing));
  pass(3000);
  assert.equal(writing.requests().length, 4);
  assert.equal(writing.find(".play").getAttribute("aria-label"), "Play again");
});

timed("as fast as possible more and more tokens are requested at once, up to eight, and after a pause one", (begin, pass) => {
  const writing = begin();
  press(writing.root, "End");
  assert.ok(isPlaying(writing));
  for (let i = 0; i < 6; i++) {
    pass(10);
    writing.answer();
  }
  const steps = writing.requests().map((n, i, all) => n - (all[i - 1] ?? N));
  assert.deepEqual(steps, [1, 2, 4, 8, 8, 8]);
  pass(10);
  press(writing.root, " ");
  assert.ok(!isPlaying(writing));
  writing.answer();
  pass(2000);
  assert.equal(writing.requests().length, 7, "it stopped");
  press(writing.root, " ");
  pass(10);
  assert.equal(writing.requests().at(-1) - writing.requests().at(-2), 1);
});

timed("the end is where the text ends: what is there is shown at once, then it is written on", (begin, pass) => {
  const writing = begin({ at: 2, most: 6 });
  click(writing, "end");
  assert.deepEqual([stepOf(writing), writing.requests(), isPlaying(writing)], [5, [5], true]);
  writing.answer();
  pass(10);
  assert.deepEqual(writing.requests(), [5, 6]);
  writing.answer();
  assert.deepEqual([stepOf(writing), isPlaying(writing)], [6, false]);
  press(writing.root, "ArrowLeft");
  click(writing, "end");
  assert.deepEqual([stepOf(writing), isPlaying(writing)], [6, false]);
  writing.answer();
  assert.deepEqual([stepOf(writing), writing.requests()], [6, [5, 6, 5, 6]]);
});

timed("playing stops by the space bar, by a step, by a click elsewhere and by a change elsewhere on the page", (begin, pass) => {
  const stops = [
    (w) => press(w.root, " "),
    (w) => press(chips(w)[2], " "),
    (w) => click(w, "play"),
    () => point(document.body, "pointerdown"),
    (w) => w.update({ at: 2, revision: w.told.at(-1)[1].revision + 1 }),
  ];
  for (const stop of stops) {
    const writing = begin();
    press(writing.root, " ");
    pass(10);
    writing.answer();
    pass(50);
    point(writing.find(".count"), "pointerdown");
    writing.update({}); // as when another head is chosen
    assert.ok(isPlaying(writing));
    stop(writing);
    assert.ok(!isPlaying(writing), String(stop));
    const n = writing.requests().length;
    pass(2000);
    assert.equal(writing.requests().length, n, String(stop));
    writing.leave();
  }
});

timed("a page that answers with the step that was there has refused: there are no more requests", (begin, pass) => {
  const writing = begin();
  press(writing.root, " ");
  pass(10);
  writing.update({ at: N, revision: writing.told.at(-1)[1].revision });
  assert.deepEqual([isPlaying(writing), isBusy(writing), stepOf(writing)], [false, false, 5]);
  pass(2000);
  assert.equal(writing.requests().length, 1);
});

timed("what the page said before it heard of a step does not lead back", (begin, pass) => {
  const writing = begin({ revision: 3 });
  press(writing.root, "Home");
  writing.update({ at: N, revision: 3 });
  assert.deepEqual([stepOf(writing), isBusy(writing), writing.requests()], [0, true, [0]]);
  pass(14_000);
  assert.ok(isBusy(writing));
  writing.answer();
  pass(3000);
  assert.deepEqual([stepOf(writing), isBusy(writing)], [0, false]);
  writing.update({ at: 4, revision: 5 }); // chosen elsewhere on the page
  assert.deepEqual([stepOf(writing), writing.requests()], [4, [0]]);
});

timed("an answer that does not come is waited for fifteen seconds; then all is as the page has it", (begin, pass) => {
  const writing = begin();
  press(writing.root, "ArrowLeft");
  press(writing.root, "Home");
  pass(14_900);
  assert.deepEqual([stepOf(writing), isBusy(writing)], [0, true]);
  pass(200);
  assert.deepEqual([stepOf(writing), isBusy(writing), writing.requests()], [5, false, [4]]);
  press(writing.root, "ArrowLeft");
  assert.deepEqual(writing.requests(), [4, 4]);
  pass(14_900);
  assert.ok(isBusy(writing), "each answer has its own time");
});

timed("a writing that leaves asks for nothing any more, and an answer that does not come by then is nobody's step", (begin, pass) => {
  for (const isOnWay of [true, false]) {
    const writing = begin();
    press(writing.root, " ");
    pass(10);
    if (!isOnWay) writing.answer();
    writing.leave();
    const [heard, end] = [[], new AbortController()];
    shownStep.listen((n) => heard.push(n), end.signal);
    assert.doesNotThrow(() => point(document.body, "pointerdown"));
    pass(20_000);
    end.abort();
    assert.deepEqual([writing.requests().length, heard], [1, []], "others on the page may show another text by then");
  }
});

timed("a step whose weights come later pales after a moment, and one that is there shows its own at once", (begin, pass) => {
  const looked = { 5: [[0.1, 0.9], Array(7).fill(0)], 4: [[0.8, 0.2], Array(6).fill(0)] };
  const writing = begin({ looked });
  const numbers = () => writing.findAll(".source .chip").map((chip) => chip.querySelector(".number")?.textContent);
  const isPale = () => writing.root.classList.contains("waiting");
  assert.deepEqual(numbers(), ["0.10", "0.90"]);
  press(writing.root, "ArrowLeft");
  assert.deepEqual(numbers(), ["0.80", "0.20"]);
  pass(300);
  assert.ok(!isPale());
  press(writing.root, "ArrowLeft");
  assert.deepEqual(numbers(), ["0.80", "0.20"]);
  pass(140);
  assert.ok(!isPale(), "nothing flickers where the page answers soon");
  pass(20);
  assert.ok(isPale());
  writing.answer();
  assert.ok(isPale(), "that was the step before");
  writing.answer({ looked: { 3: [[0.3, 0.7], Array(5).fill(0)] } });
  assert.ok(!isPale());
  assert.deepEqual(numbers(), ["0.30", "0.70"]);
});

timed("keys are left to what has its own: the list of speeds, buttons, and those with a modifier", (begin) => {
  const writing = begin();
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }]) assert.ok(!press(writing.root, "ArrowLeft", more).defaultPrevented);
  for (const key of ["ArrowLeft", " ", "Home"]) assert.ok(!press(writing.find(".speed"), key).defaultPrevented);
  assert.ok(!press(writing.root, "PageUp").defaultPrevented);
  assert.deepEqual([stepOf(writing), writing.told, isPlaying(writing)], [5, [], false]);
  press(writing.find(".player .play"), " ");
  assert.ok(isPlaying(writing), "it is pressed, not played and paused");
  press(writing.find(".player .play"), " ");
  assert.ok(!isPlaying(writing));
  assert.ok(press(chips(writing)[3], " ").defaultPrevented && isPlaying(writing));
  assert.equal(stepOf(writing), 5, "the space bar plays, and chooses no token");
  assert.ok(point(writing.find(".player .back path"), "mousedown").defaultPrevented);
  assert.equal(writing.root.getRootNode().activeElement, writing.root, "the keys stay those of the whole");
});
