// The buttons and keys that go along the generated tokens, one step each.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { makePlayButtons, nameButton, setDisabled, showPlaying } from "../../../../../headlight/components/kit/play_buttons.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { followGuide } from "./guide.js";
import { repaint } from "./panels.js";
import { nextToken, nGenerated, showPrediction } from "./prediction.js";
import { isStill, sweep } from "./travel.js";

const PERIOD = 1500; // ms per step while it plays

export function makePlayer(view) {
  [view.player, view.buttons] = makePlayButtons("", {
    begin: ["", () => go(view, 0)],
    back: ["", () => go(view, view.at - 1)],
    play: ["", () => toggle(view)],
    forward: ["", () => forward(view)],
  });
  view.place = element("span", "place");
  view.player.prepend(view.place); // before the buttons, which stay where they are
  return view.player;
}

export function fillPlayer(view) {
  const { header, buttons, at, place, player } = view;
  player.hidden = !header.rows.length && !header.nFilled;
  nameButtons(view);
  const isEnd = isOver(view);
  showPlaying(buttons.play, view.isPlaying, isLast(view) && !header.isFilling);
  const done = nGenerated(view);
  setDisabled(buttons.begin, done === 0);
  setDisabled(buttons.back, done === 0);
  setDisabled(buttons.forward, isEnd);
  const next = header.isFilling ? header.nextLabels[0] : header.nextLabels[at];
  const words = { n: done, next: next ?? "" };
  if (header.isFilling) place.textContent = header.hasEnded ? say("{n} filled", words) : say("{n} filled; most certain: “{next}”", words);
  else if (isEnd && !header.hasEnded) place.textContent = say("{n} generated", words); // the reason is beside it
  else if (isEnd) place.textContent = say("{n} generated; next: “{next}”, the end", words);
  else place.textContent = say("{n} generated; next: “{next}”", words);
}

function nameButtons({ header, player, buttons }) {
  // What the buttons go along: generated tokens, or blanks.
  const { isFilling } = header;
  player.setAttribute("aria-label", isFilling ? say("Filled blanks") : say("Generated tokens"));
  nameButton(buttons.begin, "begin", isFilling ? say("Empty all blanks (Home)") : say("First step (Home)"));
  nameButton(buttons.back, "back", isFilling ? say("Empty the last blank (←)") : say("Previous token (←)"));
  nameButton(buttons.forward, "forward", isFilling ? say("Fill the most certain blank (→)") : say("Generate the next token (→)"));
}

function isLast({ header, at }) {
  // Nothing was generated beyond this step yet.
  return header.isFilling ? header.hasEnded : at >= header.rows.length - 1;
}

function isOver(view) {
  // Nothing can be: the text has ended, or all positions of the model are used.
  const { header } = view;
  return isLast(view) && (header.isFilling || header.hasEnded || !header.nextLabels.at(-1));
}

function go(view, step) {
  pause(view);
  if (view.header.isFilling) view.step.tell(Math.max(0, step === 0 ? 0 : view.header.nFilled - 1));
  else goTo(view, step);
}

function goTo(view, step) {
  // Shows another step of the generated text.
  view.at = Math.min(Math.max(step, 0), Math.max(view.header.rows.length - 1, 0));
  repaint(view);
  showPrediction(view);
  fillPlayer(view);
  view.step.tell(view.at);
}

function forward(view) {
  // The next token joins the text; what an encoder fills in changes all it reads, so the server works that out.
  const { header } = view;
  if (isOver(view)) return pause(view);
  const token = nextToken(view);
  if (isLast(view) || header.isFilling) {
    if (token === null) return undefined;
    view.send("token", { token, step: nGenerated(view) });
  } else {
    sweep(view);
    goTo(view, view.at + 1);
  }
  followGuide(view, view.buttons.forward);
  return undefined;
}

function toggle(view) {
  if (view.isPlaying) return pause(view);
  view.isPlaying = true;
  if (isLast(view) && !view.header.isFilling) goTo(view, 0);
  else forward(view);
  playOn(view);
  return undefined;
}

function playOn(view) {
  clearTimeout(view.timer);
  view.timer = setTimeout(() => {
    if (!view.root.isConnected || !view.isPlaying) return;
    if (isLast(view)) return void pause(view);
    forward(view);
    playOn(view);
  }, isStill() ? PERIOD : PERIOD + 300);
  fillPlayer(view);
}

export function pause(view) {
  clearTimeout(view.timer);
  view.isPlaying = false;
  if (view.header) fillPlayer(view);
}

export function pressed(view, event) {
  // Whether a key went along the tokens.
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest(".prediction, .open, .crumb, .lined")) return false;
  if (key === " " && !target.closest("button")) toggle(view);
  else if (key === "ArrowRight") forward(view);
  else if (key === "ArrowLeft") go(view, view.at - 1);
  else if (key === "Home") go(view, 0);
  else return false;
  return true;
}
