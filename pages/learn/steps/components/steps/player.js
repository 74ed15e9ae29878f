// The stages in a line, and the buttons and keys that go along them.

import { announce } from "../../../../../headlight/components/kit/announce.js";
import { element } from "../../../../../headlight/components/kit/elements.js";
import { makePlayButtons, setDisabled, showPlaying } from "../../../../../headlight/components/kit/play_buttons.js";
import { goTo as focusOn } from "../../../../../headlight/components/kit/roving.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { chooseKey, describe, tellSoon } from "./choosing.js";
import { showLens } from "./lens.js";
import { travel } from "./motion.js";
import { showStage } from "./stage.js";

const PERIOD = 3200; // ms per stage while it plays

export function makePlayer(view) {
  [view.player, view.buttons] = makePlayButtons(say("Stages"), {
    back: [say("Previous stage (←)"), () => step(view, -1)],
    play: [say("Play (space)"), () => togglePlay(view)],
    forward: [say("Next stage (→)"), () => step(view, 1)],
  });
  view.line = element("ol", "line");
  view.player.append(view.line);
  return view.player;
}

export function fillPlayer(view) {
  view.stops = view.header.stages.map(({ short, title }, index) => {
    const button = element("button", "stop", short);
    Object.assign(button, { type: "button", title, tabIndex: -1 });
    button.addEventListener("click", () => goTo(view, index));
    return button;
  });
  const items = view.stops.map((button) => {
    const item = element("li", "");
    item.append(button);
    return item;
  });
  view.line.replaceChildren(...items);
}

export function showPlayer(view) {
  const { stops, stage, buttons, isPlaying } = view;
  stops.forEach((button, index) => {
    button.classList.toggle("done", index < stage);
    button.tabIndex = index === stage ? 0 : -1;
    if (index === stage) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  });
  const isLast = stage === stops.length - 1;
  showPlaying(buttons.play, isPlaying, isLast);
  setDisabled(buttons.back, stage === 0);
  setDisabled(buttons.forward, isLast);
}

function moveTo(view, stage) {
  const to = Math.min(Math.max(stage, 0), view.header.stages.length - 1);
  if (to === view.stage) return;
  const from = view.stage;
  Object.assign(view, { stage: to, stageName: view.header.stages[to].name, pointed: null });
  view.tip.hidden = true;
  showPlayer(view);
  showStage(view);
  showLens(view);
  describe(view);
  announce(`${view.told.title.textContent}. ${view.told.notice.textContent}`);
  travel(view, from);
  tellSoon(view);
}

function goTo(view, stage) {
  pause(view);
  moveTo(view, stage);
}

function step(view, by) {
  goTo(view, view.stage + by);
}

function togglePlay(view) {
  if (view.isPlaying) return pause(view);
  view.isPlaying = true;
  moveTo(view, view.stage === view.stops.length - 1 ? 0 : view.stage + 1);
  playOn(view);
}

function playOn(view) {
  clearTimeout(view.timer);
  view.timer = setTimeout(() => {
    if (!view.root.isConnected || !view.isPlaying) return;
    if (view.stage === view.stops.length - 1) return pause(view);
    moveTo(view, view.stage + 1);
    playOn(view);
  }, PERIOD);
  showPlayer(view);
}

export function pause(view) {
  clearTimeout(view.timer);
  view.isPlaying = false;
  if (view.stops) showPlayer(view);
}

export function press(view, event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest(".lens, .queries")) return;
  const isOnKey = target.matches(".key, canvas");
  const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
  const keyBy = isOnKey ? { ArrowUp: -1, ArrowDown: 1 }[key] : undefined;
  if (key === " " && !target.matches(".key, .back, .forward, .play")) togglePlay(view);
  else if (by) step(view, by);
  else if (key === "Enter" && target.matches("canvas")) focusOn(view.rovingNumbers.stop);
  else if (keyBy) chooseKey(view, view.key + keyBy, target.matches(".key"));
  else if (key === "Home") goTo(view, 0);
  else if (key === "End") goTo(view, view.stops.length - 1);
  else return;
  event.preventDefault();
  if (target.matches(".stop")) view.stops[view.stage].focus({ preventScroll: true });
}
