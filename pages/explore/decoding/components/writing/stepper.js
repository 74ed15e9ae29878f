// The player: goes along what is written, and has the model write on.
//
// Within what is there the outline moves at once. The page is requested one step at a time (`at`), and writes on where
// there is none yet. What a person wants meanwhile is the goal, a step, and is requested next.

import { announce } from "../../../../../headlight/components/kit/announce.js";
import { element } from "../../../../../headlight/components/kit/elements.js";
import { shownStep } from "../../../../../headlight/components/kit/channel.js";
import { leaving } from "../../../../components/kit/mount.js";
import { makePlayButtons, setDisabled, showPlaying } from "../../../../../headlight/components/kit/play_buttons.js";
import { SharedValue } from "../../../../../headlight/components/kit/shared_value.js";
import { say, sayNumber } from "../../../../../headlight/components/kit/say.js";
import { setPlace } from "./place.js";

const SPEEDS = [
  { name: say("slow"), title: say("1 token per second"), period: 1000, most: 1 },
  { name: say("normal"), title: say("3 tokens per second"), period: 333, most: 1 },
  { name: say("fast"), title: say("10 tokens per second"), period: 100, most: 1 },
  { name: say("as fast as possible"), title: say("as fast as possible"), period: 0, most: 8 },
];
const USUAL = 1; // of the speeds
const PATIENCE = 15_000; // ms, after which an answer is no longer waited for

export function makeStepper(view) {
  Object.assign(view, { goal: null, asked: null, isPlaying: false, isHurried: false, sentAt: 0, atOnce: 1 });
  view.step = new SharedValue((message) => view.send("at", message));
  const [player, buttons] = makePlayButtons(say("Player"), {
    begin: [say("To the start (Home)"), () => go(view, 0)],
    back: [say("One step back (←)"), () => step(view, -1)],
    play: [say("Play (space)"), () => togglePlay(view)],
    forward: [say("One step forward (→)"), () => step(view, 1)],
    end: [say("To the end (End)"), () => goToEnd(view)],
  });
  view.buttons = buttons;
  view.speed = element("select", "speed");
  view.speed.setAttribute("aria-label", say("Speed"));
  view.speed.append(...SPEEDS.map(({ name, title }, index) => Object.assign(new Option(name, String(index)), { title })));
  view.speed.value = USUAL;
  view.speed.addEventListener("change", () => {
    view.atOnce = 1;
    if (view.isPlaying && !view.asked) playOn(view);
  });
  view.count = element("span", "count");
  view.busy = element("span", "busy", say("generating …"));
  view.says = element("span", "says");
  player.append(view.speed, view.count, view.busy, view.says);
  player.addEventListener("mousedown", (event) => {
    if (!(event.target instanceof Element && event.target.closest("button"))) return;
    event.preventDefault(); // the keys stay those of the whole: space plays, whatever was clicked last
    view.root.focus({ preventScroll: true });
  });
  stopElsewhere(view);
  return player;
}

function stopElsewhere(view) {
  const onPointer = (event) => {
    if (view.isPlaying && !event.composedPath().includes(view.root)) pause(view);
  };
  document.addEventListener("pointerdown", onPointer, { capture: true, signal: leaving(view.root) });
}

function isOver({ header, nWritten }, n) {
  return n >= nWritten && header.ended !== null;
}

export function go(view, n) {
  pause(view);
  want(view, n);
}

export function step(view, by) {
  go(view, (view.goal ?? view.place) + by);
}

export function goToEnd(view) {
  // What is there at once, and what is not there yet as fast as it goes.
  pause(view);
  const isOpen = view.header.ended === null;
  if (isOpen) Object.assign(view, { isPlaying: true, isHurried: true, atOnce: 1 });
  if (view.header.at !== view.nWritten || view.asked) want(view, view.nWritten);
  else if (isOpen) playOn(view);
  showStepper(view);
}

export function togglePlay(view) {
  if (view.isPlaying) return pause(view);
  Object.assign(view, { isPlaying: true, atOnce: 1, sentAt: -Infinity });
  if (isOver(view, view.goal ?? view.place)) want(view, 0);
  else if (!view.asked) playOn(view);
  showStepper(view);
}

function pause(view) {
  clearTimeout(view.timer);
  Object.assign(view, { isPlaying: false, isHurried: false });
  showStepper(view);
}

function playOn(view) {
  // Goes on when the time of the chosen speed is over; the first token comes alone, so that it comes soon.
  clearTimeout(view.timer);
  if (!view.root.isConnected || isOver(view, view.header.at)) return pause(view);
  const { period, most } = SPEEDS[view.isHurried ? SPEEDS.length - 1 : view.speed.value];
  const writeOn = () => {
    if (!view.root.isConnected) return pause(view);
    want(view, view.header.at + view.atOnce);
    view.atOnce = Math.min(most, 2 * view.atOnce);
  };
  view.timer = setTimeout(writeOn, Math.max(0, view.sentAt + period - performance.now()));
}

function want(view, n) {
  const { header, nWritten } = view;
  const goal = Math.max(0, header.ended === null ? n : Math.min(n, nWritten));
  view.goal = goal;
  goTo(view, Math.min(goal, nWritten));
  ask(view);
  showStepper(view);
}

function ask(view) {
  const { header, goal } = view;
  if (view.asked) return;
  if (goal === header.at) view.goal = null;
  if (view.goal === null) return;
  view.asked = { from: header.at };
  view.sentAt = performance.now();
  clearTimeout(view.impatient);
  view.impatient = setTimeout(() => giveUp(view), PATIENCE);
  view.step.tell(goal);
}

function giveUp(view) {
  if (!view.root.isConnected) return; // who shows steps may be of another text by now
  Object.assign(view, { asked: null, goal: null });
  pause(view);
  goTo(view, view.header.at);
}

function goTo(view, n) {
  // Before the page has answered; other components that show steps show this one, too.
  setPlace(view, n);
  shownStep.send(n);
}

export function hear(view, former, isHeard) {
  // The page has answered, or shows something else for another reason.
  const { header, asked, nWritten } = view;
  const isAnswer = asked && isHeard;
  if (isAnswer) {
    clearTimeout(view.impatient);
    view.asked = null;
    const hasMoved = header.at !== asked.from;
    if (view.goal === header.at || !hasMoved || isOver(view, header.at)) view.goal = null;
    if (!hasMoved) pause(view);
  } else if (!asked && header.at !== former?.at) pause(view);
  setPlace(view, Math.min(view.goal ?? header.at, nWritten));
  if (!view.asked && view.goal !== null) ask(view);
  else if (isAnswer && view.isPlaying) playOn(view);
  showStepper(view);
}

function showStepper(view) {
  const { buttons, header, nWritten, place, isPlaying } = view;
  if (!header) return;
  const over = isOver(view, view.goal ?? place);
  showPlaying(buttons.play, isPlaying, over);
  setDisabled(buttons.begin, place === 0 && !view.goal);
  setDisabled(buttons.back, place === 0 && !view.goal);
  setDisabled(buttons.forward, over);
  setDisabled(buttons.end, over);
  const open = header.ended === null ? say(" so far") : "";
  view.count.textContent = sayNumber(nWritten, "{place} of {n} token{open}", "{place} of {n} tokens{open}", { place, open });
  const text = over && place === nWritten ? header.ended : "";
  if (view.says.textContent !== text) {
    view.says.textContent = text;
    announce(text);
  }
  view.busy.hidden = !view.asked;
}
