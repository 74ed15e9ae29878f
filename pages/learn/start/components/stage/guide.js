// A guided minute over the stage: three captions, each at its place and with one thing to do. It takes no room. It is
// shown where the page opens without a link's state, until it is skipped or finished: the browser remembers that.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { keep, kept } from "../../../../components/kit/storage.js";

const STORE = "headlight-guide";
const GAP = 10;
const CAPTIONS = [
  {
    at: ({ sources }) => sources,
    isAbove: true, // the tokens, the curves and the heads stay free
    words: say("This line names the tokens that contribute most to the prediction; the curves show the largest shares that single heads pass on. Select another token on the left."),
  },
  {
    at: ({ buttons }) => buttons.forward,
    isAbove: true,
    words: say("This button generates the next token. Try it, and see how the curves change."),
  },
  {
    at: ({ lanes }) => lanes.querySelector(".lane:last-of-type .block-title"), // in sight where a lane is scrolled
    words: say("Each block has attention and a feed-forward network. Select its name to zoom in; use the breadcrumbs above to go back."),
  },
];
const WORDS_OF_BLANKS = say("This button fills the most certain blank. Try it, and see how the curves change.");

export function makeGuide(view) {
  const isPlain = [...new URLSearchParams(location.search).keys()].every((name) => name === "language");
  const box = element("aside", "guide");
  box.setAttribute("aria-label", say("Introduction in three steps"));
  box.hidden = true;
  const words = element("p", "words");
  words.setAttribute("aria-live", "polite");
  const count = element("span", "count");
  const tour = element("a", "tour", say("Take the Tour"));
  tour.href = "tour";
  const skip = element("button", "skip", say("Skip"));
  const next = element("button", "next", say("Next"));
  for (const button of [skip, next]) button.type = "button";
  const line = element("div", "choices");
  line.append(count, skip, next, tour);
  box.append(words, line);
  view.guide = { box, words, count, tour, skip, next, at: 0, isOver: !isPlain || Boolean(kept(STORE).isDone) };
  skip.addEventListener("click", () => leaveGuide(view));
  tour.addEventListener("click", () => leaveGuide(view));
  next.addEventListener("click", () => advance(view));
  return box;
}

function advance(view) {
  view.guide.at += 1;
  if (view.guide.at === CAPTIONS.length) leaveGuide(view);
  else showGuide(view);
}

/** Goes on from a caption, or closes the last one, where the person has done what it says. */
export function followGuide(view, place) {
  const { guide } = view;
  if (!guide.box.hidden && CAPTIONS[guide.at].at(view) === place) advance(view);
}

/** Closes it for good; whether it was open. */
export function leaveGuide(view) {
  const { guide, root } = view;
  const wasOpen = !guide.box.hidden;
  const hadFocus = guide.box.contains(/** @type {Document | ShadowRoot} */ (root.getRootNode()).activeElement);
  guide.isOver = true;
  if (wasOpen) keep(STORE, { isDone: true });
  showGuide(view);
  if (hadFocus) root.focus({ preventScroll: true });
  return wasOpen;
}

export function showGuide(view) {
  // Shows the caption of its step beside its place, over the lanes: nothing else moves, and the prediction stays free.
  const { guide, header, root, lanes } = view;
  const { box, words, count, tour, skip, next, at, isOver } = guide;
  for (const part of root.querySelectorAll(".guided")) part.classList.remove("guided");
  const place = isOver || header.level !== "overview" || !header.rows.length ? null : CAPTIONS[at].at(view);
  box.hidden = !place;
  if (!place) return;
  const isLast = at === CAPTIONS.length - 1;
  place.classList.add("guided");
  words.textContent = at === 1 && header.isFilling ? WORDS_OF_BLANKS : CAPTIONS[at].words;
  count.textContent = say("{n} of {all}", { n: at + 1, all: CAPTIONS.length });
  tour.hidden = !isLast;
  skip.hidden = isLast;
  next.textContent = isLast ? say("Done") : say("Next");
  const isAbove = Boolean(CAPTIONS[at].isAbove);
  box.classList.toggle("above", isAbove);
  const [all, within, of, size] = [root, isAbove ? view.top : lanes, place, box].map((part) => part.getBoundingClientRect());
  const { left, top } = placeOf(size, { within, of, isAbove, height: window.innerHeight });
  box.style.left = `${left - all.left}px`;
  box.style.top = `${top - all.top}px`;
}

/** @typedef {{left: number, right: number, top: number, bottom: number}} Box */

/**
 * Where a caption lies: below its place, as far as that is within the lanes and in sight, or above the stage, at its end.
 *
 * @param {{width: number, height: number}} size - of the caption
 * @param {{within: Box, of: Box, isAbove: boolean, height: number}} room
 *   the boxes of the lanes, or of the stage's first row, and of the place; the height of the window
 */
export function placeOf(size, { within, of, isAbove, height }) {
  if (isAbove) return { left: Math.max(within.left, within.right - size.width), top: within.top - GAP - size.height };
  const lowest = Math.min(within.bottom, height - GAP) - size.height;
  const left = Math.max(within.left, Math.min(of.left + GAP, within.right - size.width));
  return { left, top: Math.max(within.top, Math.min(of.bottom + GAP, lowest)) };
}
