// A mask that is edited, and what becomes of it: as -inf in the scores, as zeros in the pattern, and in the output.
//
// data: as mounting.py packs it; after the header, for every query and key, the head's scores without the mask, its
// pattern, its pattern under the model's own masks (float32, little endian), then the preset and the mask that the
// model ran with (a byte each, 1 = may attend). What a hand does is seen at once; the model answers when it has run.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { unpack } from "../../../../../headlight/components/kit/packing.js";
import { SharedValue } from "../../../../../headlight/components/kit/shared_value.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { watchTheme } from "../../../../../headlight/components/kit/theme.js";
import { takeMask } from "./cells.js";
import { finish, goBack, listenToHands } from "./hands.js";
import { fillOutputs } from "./outputs.js";
import { fit, PICTURES, point, redraw } from "./pictures.js";

export default await mount(import.meta.url, {
  styles: ["./mask_matrix.css"],
  make: makeView,
  update,
});

function update(view, data, send) {
  const { root } = view;
  const { header, rest } = unpack(data);
  const [rows, columns] = [header.query.length, header.key.length];
  const n = rows * columns;
  const floats = new Float32Array(rest.slice(0, 12 * n).buffer);
  const [scores, pattern, before] = [0, 1, 2].map((part) => floats.subarray(part * n, (part + 1) * n));
  Object.assign(view, { header, rows, columns, scores, pattern, before, ran: rest.slice(13 * n, 14 * n) });
  view.send = send;
  const isAnswer = takeMask(view, { base: rest.slice(12 * n, 13 * n), turned: header.turned, of: header.of });
  view.strongest = Math.max(1e-6, ...scores.map(Math.abs));
  if (view.cursor && (view.cursor.row >= rows || view.cursor.column >= columns)) view.cursor = null;
  if (isAnswer) root.classList.remove("waiting");
  fillOutputs(view);
  nameParts(view);
  fit(view);
}

function makeView(root) {
  const view = { root, pictures: {}, parts: {}, history: [""], place: 0, hand: null, pointed: null };
  view.edits = new SharedValue((message) => view.send("turned", message));
  const { parts } = view;
  for (const name of ["tools", "pictures", "results", "says", "words", "counted", "chips", "legend"]) {
    parts[name] = element("div", name);
  }
  for (const name of PICTURES) {
    const [figure, caption] = [element("figure", name), element("figcaption", "caption")];
    const canvas = element("canvas", "cells");
    figure.append(caption, canvas);
    view.pictures[name] = { figure, caption, canvas, name };
  }
  const { mask, scores, pattern } = view.pictures;
  Object.assign(mask.canvas, { tabIndex: 0 });
  mask.canvas.setAttribute("role", "application");
  const acts = { undo: () => goBack(view, -1), redo: () => goBack(view, 1), reset: () => reset(view) };
  for (const [name, act] of Object.entries(acts)) {
    parts[name] = element("button", "tool");
    parts[name].type = "button";
    parts[name].addEventListener("click", act);
    parts.tools.append(parts[name]);
  }
  parts.tools.append(parts.legend);
  mask.figure.append(parts.tools);
  parts.pictures.append(scores.figure, pattern.figure);
  parts.results.append(parts.pictures, parts.says, parts.words, parts.counted, parts.chips);
  root.append(mask.figure, parts.results);
  parts.chips.addEventListener("mouseover", ({ target }) => {
    const chip = target.closest(".chip");
    if (chip && view.header.outputs.areQueries) point(view, { row: Number(chip.dataset.place), column: null });
  });
  parts.chips.addEventListener("mouseleave", () => point(view, null));
  view.theme = watchTheme(root, () => redraw(view));
  listenToHands(view);
  new ResizeObserver(() => fit(view)).observe(root);
  return view;
}

function nameParts(view) {
  const { header, pictures, parts, rows, columns } = view;
  const size = { rows, columns };
  pictures.mask.canvas.setAttribute(
    "aria-label",
    say("Mask of {rows} queries by {columns} keys. Arrow keys move, Space toggles a cell, R its row, C its column, Shift with arrows draws, Ctrl+Z undoes.", size),
  );
  for (const name of PICTURES) {
    const { title, what } = header.captions[name];
    pictures[name].caption.replaceChildren(element("b", "", title), ` ${what}`);
  }
  for (const { canvas } of [pictures.scores, pictures.pattern]) canvas.setAttribute("aria-hidden", "true");
  parts.undo.textContent = say("Undo");
  parts.redo.textContent = say("Redo");
  parts.reset.textContent = say("Reset to preset");
  const entries = {
    allowed: say("may attend"),
    forbidden: say("masked"),
    turned: say("edited by hand"),
  };
  parts.legend.replaceChildren(
    ...Object.entries(entries).map(([name, text]) => {
      const item = element("span", "entry");
      item.append(element("i", name), text);
      return item;
    }),
  );
}

function reset(view) {
  view.turned = new Set();
  finish(view);
}
