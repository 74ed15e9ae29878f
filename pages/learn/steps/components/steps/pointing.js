// What lies under the pointer in the figure: a number, in words beside it; a click keeps its key and asks for its formula.

import { inLines, rove } from "../../../../../headlight/components/kit/roving.js";
import { chooseCell, pointAtKey } from "./choosing.js";
import { markAt } from "./marks.js";
import { wordsOfMark } from "./numbers.js";
import { paint } from "./paint.js";
import { pause } from "./player.js";

export function listen(view) {
  const { canvas } = view;
  canvas.addEventListener("mousemove", (event) => {
    const mark = markAt(view, event.offsetX, event.offsetY);
    canvas.style.cursor = mark ? "pointer" : "";
    point(view, mark, event);
  });
  canvas.addEventListener("mouseleave", () => point(view, null));
  canvas.addEventListener("click", (event) => {
    const mark = markAt(view, event.offsetX, event.offsetY);
    if (mark) choose(view, mark);
  });
  view.rovingNumbers = rove(view.lens, {
    of: ".number",
    next: (key, number) => inLines(key, number, [...view.lens.querySelectorAll(".number")]),
    onPoint: (number) => {
      point(view, number ? markOf(number) : null);
      if (number) number.title = wordsOfMark(view, markOf(number));
    },
    onChoose: (number) => choose(view, markOf(number)),
  });
}

function choose(view, mark) {
  pause(view);
  chooseCell(view, mark);
}

function markOf(number) {
  const { name, row, column } = number.dataset;
  return { name, row: Number(row), column: Number(column) };
}

function point(view, mark, event) {
  const { tip, quantities, pointed } = view;
  const isSame = mark?.name === pointed?.name && mark?.row === pointed?.row && mark?.column === pointed?.column;
  view.pointed = mark;
  const quantity = mark && quantities.get(mark.name);
  if (event) pointAtKey(view, quantity?.rows === "key" ? mark.row : quantity?.columns === "key" ? mark.column : null);
  else if (!mark && view.pointedKey !== null) pointAtKey(view, null);
  if (!isSame && !view.motion && view.width) paint(view);
  tip.hidden = !mark || !event;
  if (tip.hidden) return;
  if (!isSame) tip.textContent = wordsOfMark(view, mark);
  const x = Math.min(event.offsetX + 14, view.width - tip.offsetWidth - 4);
  const y = event.offsetY + (event.offsetY > view.lines.height - 60 ? -34 : 18);
  tip.style.transform = `translate(${Math.max(0, x)}px, ${y}px)`;
}
