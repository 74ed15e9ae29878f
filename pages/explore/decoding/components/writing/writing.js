// Writing, token by token: the source and the output as chips, and a player that goes along the output.
//
// data: as mounting.py packs it; after the header numbers (float32, little endian): a row for each token of the output,
// as _table in __init__.py says, then for each of the header's steps the weights over the source and over the output. A
// step is identified by the number of tokens written at it; the header's `at`, the first of them, is the one that the rest of
// the page shows. Other components that show steps hear of every step by an event: see candidates.js.

import { element, svg } from "../../../../../headlight/components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { unpack } from "../../../../../headlight/components/kit/packing.js";
import { inLine, rove } from "../../../../../headlight/components/kit/roving.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { watchTheme } from "../../../../../headlight/components/kit/theme.js";
import { colorAll, colorScale, fillOutput, fillSource, makeTip, placeOf, point, SIDES } from "./chips.js";
import { draw, look } from "./looking.js";
import { go, goToEnd, hear, makeStepper, step, togglePlay } from "./stepper.js";

export default await mount(import.meta.url, {
  styles: ["../../../../../headlight/components/kit/play_buttons.css", "../../../../../headlight/components/kit/tip.css", "./writing.css", "./chips.css", "./stepper.css"],
  make: makeView,
  update,
});

function update(view, data, send) {
  view.send = send;
  const former = view.header;
  const isHeard = take(view, data);
  nameParts(view);
  if (former?.source.join("\n") !== view.header.source.join("\n")) fillSource(view);
  fillOutput(view);
  look(view);
  hear(view, former, isHeard);
  if (view.pointed) point(view, view.pointed);
}

function makeView(root) {
  const view = { root, items: { source: [], output: [] }, parts: {}, pointed: null, place: null };
  root.tabIndex = -1;
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", say("Generation, token by token"));
  view.sheet = element("div", "sheet");
  view.curves = svg("svg", { class: "curves", "aria-hidden": "true" });
  view.sheet.append(view.curves);
  for (const side of SIDES) {
    const part = { box: element("div", `part ${side}`), head: element("div", "head"), pane: element("div", "pane") };
    Object.assign(part, { title: element("strong", "title"), aim: element("span", "aim"), list: element("div", "list") });
    part.head.append(part.title, part.aim);
    part.list.setAttribute("role", side === "source" ? "list" : "group");
    part.pane.append(part.list);
    part.box.append(part.head, part.pane);
    view.sheet.append(part.box);
    view.parts[side] = part;
  }
  view.caret = element("span", "caret");
  view.caret.append(element("span", "flag", say("next")));
  view.caret.setAttribute("aria-hidden", "true"); // the outlined chip says the same
  view.parts.output.pane.append(view.caret);
  view.scale = element("span", "legend");
  view.parts.output.head.append(view.scale);
  view.tip = makeTip();
  root.append(view.sheet, makeStepper(view), view.tip);
  view.theme = watchTheme(root, () => view.header && colorAll(view));
  listen(view);
  return view;
}

function take(view, data) {
  const { header, rest } = unpack(data);
  const isHeard = view.step.hear(header.at);
  header.at = header.at.value;
  const numbers = new Float32Array(rest.slice().buffer);
  let start = numbers.length - header.steps.reduce((sum, { source, output }) => sum + source + output, 0);
  const width = header.nOutput ? start / header.nOutput : 0;
  const next = (n) => numbers.subarray(start, (start += n));
  const steps = header.steps.map(({ n, source, output }) => [n, { source: next(source), output: next(output) }]);
  view.weightsOf = new Map(steps);
  const weights = view.weightsOf.get(header.at);
  const shades = header.shades[view.theme()];
  Object.assign(view, { header, width, numbers, weights, shades, nWritten: header.nOutput - header.nGiven });
  return isHeard;
}

function listen(view) {
  const { root, parts } = view;
  view.roving = {};
  for (const side of SIDES) {
    view.roving[side] = rove(parts[side].list, {
      of: ".chip",
      next: (key, chip, event) => next(view, key, placeOf(chip), event),
      onPoint: (chip) => point(view, view.isPlaying && !chip?.matches(":hover") ? null : chip && placeOf(chip)),
      onChoose: side === "output" ? (chip) => choose(view, placeOf(chip)) : undefined,
    });
  }
  root.addEventListener("keydown", (event) => press(view, event));
  root.addEventListener("keyup", (event) => event.key === " " && event.target.matches(".chip") && event.preventDefault());
  for (const { pane } of Object.values(parts)) {
    pane.addEventListener("scroll", () => {
      point(view, null);
      draw(view);
    });
    new ResizeObserver(() => draw(view)).observe(pane);
  }
}

function nameParts(view) {
  const { header, parts, root, scale } = view;
  const hasSource = header.source.length > 0;
  root.classList.toggle("alone", !hasSource);
  root.style.setProperty("--hue", header.hue);
  parts.source.box.hidden = !hasSource;
  const titles = { source: say("Source"), output: hasSource ? say("Output") : say("Prompt and output") };
  for (const side of SIDES) {
    const { title, list, aim } = parts[side];
    title.textContent = titles[side];
    list.setAttribute("aria-label", titles[side]);
    if (aim.dataset.words === header.aims[side]) continue;
    aim.dataset.words = header.aims[side];
    const who = header.aims[side];
    aim.title = say("Bars: attention to each token when predicting the next one; {who}", { who });
    aim.replaceChildren(element("i", "swatch"), who);
  }
  if (scale.childElementCount) return;
  const shade = element("i", "gradient");
  scale.append(say("probability 0"), shade, "1", element("i", "mark forced"), say("forced"));
  scale.title = say("Color: the probability of the token when it was generated. Forced: chosen by hand.");
  colorScale(view);
}

function choose(view, { index }) {
  const n = index - view.header.nGiven + 1;
  if (n >= 0) go(view, n);
}

function press(view, event) {
  const { key, target } = event;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.matches("select")) return;
  const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[key];
  if (key === " ") {
    if (target.matches(".player button")) return; // which it presses
    togglePlay(view);
  } else if (by === Infinity) goToEnd(view);
  else if (by) step(view, by);
  else return;
  event.preventDefault();
}

function next(view, key, { side, index }, { shiftKey }) {
  // Up and down lead to the other side; along a side the focus moves alone, but for the output's own keys: those step.
  const { items, roving, header, place } = view;
  if (key === "ArrowUp") return roving.source.stop;
  if (key === "ArrowDown") return items.output[header.nGiven + place - 1].chip;
  if (side === "output" && !shiftKey) return undefined;
  return inLine(key, items[side][index], items[side])?.chip;
}
