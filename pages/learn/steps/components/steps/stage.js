// The texts of the present stage: its title, its formula, its shapes, and what to notice.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { makeMath, MATH } from "./formula.js";

export function makeStage(view) {
  view.says = element("div", "says");
  view.told = { title: element("strong", "title"), notice: element("p", "notice"), shapes: element("p", "shapes") };
  view.told.formula = element("div", "formula");
  const words = element("div", "words");
  words.append(view.told.title, view.told.notice);
  const formula = element("div", "exact");
  formula.append(view.told.formula, view.told.shapes);
  view.says.append(words, formula);
  return view.says;
}

export function showStage(view) {
  const { header, stage, told, quantities } = view;
  const { title, notice, formula, shown } = header.stages[stage];
  told.title.textContent = `${stage + 1}. ${title}`;
  told.notice.textContent = notice;
  const math = document.createElementNS(MATH, "math");
  math.setAttribute("display", "block");
  math.append(makeMath(formula));
  told.formula.replaceChildren(math);
  told.shapes.replaceChildren(
    ...[...shown].map((name) => {
      const { symbol, size, hue } = quantities.get(name);
      const shape = element("span", "shape");
      const what = element("b", "", symbol);
      if (hue) what.style.setProperty("--hue", view.palette.hues[hue]);
      shape.append(what, ` [${size}]`);
      return shape;
    }),
  );
}
