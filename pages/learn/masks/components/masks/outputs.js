// What the model says at each place, with its own masks and with these: a chip a token, two bars for its probability.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { probability } from "../../../../../headlight/components/kit/numbers.js";
import { say } from "../../../../../headlight/components/kit/say.js";

export function fillOutputs(view) {
  const { outputs } = view.header;
  const { words, chips, counted } = view.parts;
  words.replaceChildren(
    ...outputs.words.map(({ name, text, isChanged }) => {
      const line = element("div", isChanged ? "line changed" : "line");
      line.append(element("span", "name", name), element("bdi", "text", text));
      return line;
    }),
  );
  counted.textContent = outputs.counted;
  chips.replaceChildren(...outputs.rows.map((row) => makeChip(row)));
}

function makeChip({ place, word, before, now, previous, says }) {
  const isChanged = previous !== says;
  const chip = element("div", isChanged ? "chip changed" : "chip");
  chip.dataset.place = place;
  const bars = element("span", "bars");
  for (const [name, value] of Object.entries(now === null ? { before } : { before, now })) {
    const bar = element("i", name);
    bar.style.setProperty("--share", `${100 * value}%`);
    bars.append(bar);
  }
  const numbers = now === null ? inShort(before) : `${inShort(before)} → ${inShort(now)}`;
  chip.append(element("bdi", "word", word), bars, element("span", "numbers", numbers));
  if (now === null) return chip;
  const values = { place, word, before: inShort(before), now: inShort(now), previous, says };
  if (isChanged) chip.append(element("bdi", "says", says));
  chip.title = isChanged
    ? say("position {place}: “{word}” {now}, before {before}; prediction “{says}”, before “{previous}”", values)
    : say("position {place}: “{word}” {now}, before {before}; prediction “{says}”, as before", values);
  return chip;
}

const inShort = (value) => probability(value).replace(/0(?=[.,])/, "");

export function lightChips(view) {
  const row = view.pointed?.row ?? null;
  for (const chip of view.parts.chips.children) {
    chip.classList.toggle("lit", view.header.outputs.areQueries && row === Number(chip.dataset.place));
  }
}
