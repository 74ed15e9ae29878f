// The tokens: those that may ask, as chips above the figure, and the selected ones, in front of their rows.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { inLine, rove } from "../../../../../headlight/components/kit/roving.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { chooseKey, chooseQuery, pointAtKey, tell } from "./choosing.js";
import { tokenOf } from "./numbers.js";

export function makeQueries(view) {
  view.queries = element("div", "queries");
  view.queries.setAttribute("role", "group");
  view.queries.setAttribute("aria-label", say("Query"));
  view.rovingQueries = rove(view.queries, {
    of: ".chip",
    next: (key, chip) => {
      const to = inLine(key, chip, view.chips);
      if (to) chooseQuery(view, view.chips.indexOf(to));
      return to;
    },
    onChoose: (chip) => chooseQuery(view, view.chips.indexOf(chip)),
  });
  return view.queries;
}

export function fillQueries(view) {
  const { header } = view;
  const { query: first } = header.first;
  view.chips = header.query.map((label, index) => {
    const chip = element("button", "chip");
    Object.assign(chip, { type: "button", tabIndex: -1 });
    chip.append(element("bdi", "word", label), element("small", "place", String(first + index)));
    chip.title = say("query {token}", { token: tokenOf(view, "query", index) });
    return chip;
  });
  const beyond = (className, label, title, place) => {
    const button = element("button", `beyond ${className}`, label);
    Object.assign(button, { type: "button", title });
    button.addEventListener("click", () => tell(view, { query: place, key: null, cell: null }));
    return button;
  };
  const end = first + header.query.length;
  const focused = view.queries.querySelector(":focus")?.className;
  view.queries.replaceChildren(
    element("span", "title", say("Query")),
    ...(first > 0 ? [beyond("earlier", "‹", say("Earlier tokens"), first - 1)] : []),
    ...view.chips,
    ...(end < header.nQueries ? [beyond("later", "›", say("Later tokens"), end)] : []),
  );
  if (focused) (view.queries.querySelector(`.beyond[class="${focused}"]`) ?? view.chips[view.query]).focus({ preventScroll: true });
}

export function fillKeys(view) {
  const { header } = view;
  view.keys = header.key.map((label, index) => {
    const button = element("button", "key");
    Object.assign(button, { type: "button", title: say("key {token}", { token: tokenOf(view, "key", index) }) });
    button.append(element("bdi", "word", label));
    button.addEventListener("click", () => chooseKey(view, index));
    button.addEventListener("mouseenter", () => pointAtKey(view, index));
    button.addEventListener("mouseleave", () => pointAtKey(view, null));
    return button;
  });
  view.asking = element("bdi", "asking");
  delete view.labels.dataset.place; // these are new, and stand nowhere yet
  view.labels.replaceChildren(view.asking, ...view.keys);
}
