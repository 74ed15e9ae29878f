// The steps of a decoding: which token was generated next, and the query that determined it.

import { announce } from "../components/kit/announce.js";
import { element } from "../components/kit/elements.js";
import { probability } from "../components/kit/numbers.js";
import { makePlayButtons, setDisabled, showPlaying } from "../components/kit/play_buttons.js";
import { say } from "../components/kit/say.js";

const PERIOD = 900; // ms, of a step while it plays

/**
 * @param {HTMLElement} root
 * @param {{tokens: string[], probabilities: number[]}} steps
 * @param {(step: number | null) => void} onStep - null: the whole text is shown
 */
export function makeStepper(root, steps, onStep) {
  /** @type {Record<string, any>} */
  const view = { steps, onStep, step: null, timer: undefined };
  const last = steps.tokens.length - 1;
  const by = (change) => () => {
    pause(view);
    go(view, view.step === null ? (change > 0 ? 0 : last) : view.step + change);
  };
  const [group, buttons] = makePlayButtons(say("Decoding steps"), {
    begin: [say("Whole text"), () => (pause(view), go(view, null))],
    back: [say("Previous step"), by(-1)],
    play: [say("Play (space)"), () => (view.timer ? pause(view) : play(view))],
    forward: [say("Next step"), by(1)],
  });
  view.words = element("span", "words");
  group.append(view.words);
  Object.assign(view, { buttons, last });
  root.append(group);
  show(view);
  return view;
}

function go(view, step) {
  if (step !== null && (step < 0 || step > view.last)) return;
  view.step = step;
  show(view);
  view.onStep(step);
}

function play(view) {
  go(view, view.step === null || view.step === view.last ? 0 : view.step + 1);
  view.timer = setInterval(() => {
    go(view, view.step + 1);
    if (view.step === view.last) pause(view);
  }, PERIOD);
  show(view);
}

function pause(view) {
  clearInterval(view.timer);
  view.timer = undefined;
  show(view);
}

function show(/** @type {Record<string, any>} */ { step, last, steps, buttons, words, timer }) {
  showPlaying(buttons.play, Boolean(timer), step === last);
  setDisabled(buttons.begin, step === null);
  setDisabled(buttons.back, step === 0);
  setDisabled(buttons.forward, step === last);
  if (step === null) return words.replaceChildren(say("Step through the generated tokens"));
  const values = { n: step + 1, total: last + 1, token: steps.tokens[step], p: probability(steps.probabilities[step]) };
  words.replaceChildren(say("Step {n} of {total}: “{token}”, probability {p}", values));
  if (!timer) announce(words.textContent);
}

/** @param {Record<string, any>} view - it leaves the page */
export const endStepper = (view) => clearInterval(view.timer);
