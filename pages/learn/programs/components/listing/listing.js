// A program as a table: a row for each line, with the heads that it became and what it computes at each token. A line is
// chosen by a click or with the arrow keys and Enter.
//
// data: {tokens, rows: [{number, source, parts, values, changed, isMistaken, note}], outputs: [{name, values, changed}],
// line: the number of the chosen line, as a shared value}.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { inLine, rove } from "../../../../../headlight/components/kit/roving.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { SharedValue } from "../../../../../headlight/components/kit/shared_value.js";

/**
 * @typedef {object} Row
 * @property {number} number
 * @property {string} source
 * @property {string[]} parts
 * @property {string[]} values
 * @property {number[]} changed
 * @property {boolean} isMistaken
 * @property {string} note
 */

export default await mount(import.meta.url, { styles: ["./listing.css"], make, update });

function make(root) {
  /** @type {any} */
  const view = { root, chosen: 0 };
  view.line = new SharedValue((message) => view.send("line", message));
  view.table = element("table", "program");
  root.append(view.table);
  view.roving = rove(root, {
    of: ".line",
    next: (key, button) => inLine(key, button, [...root.querySelectorAll(".line")], "down"),
    onChoose: (button) => {
      view.line.tell(Number(button.dataset.number));
      choose(view, Number(button.dataset.number));
    },
  });
  return view;
}

function update(view, data, send) {
  view.send = send;
  const focused = view.root.querySelector(".line:focus")?.dataset.number;
  view.table.replaceChildren(head(data.tokens), lines(data), outputs(data));
  choose(view, view.line.hear(data.line) ? data.line.value : view.chosen);
  if (focused !== undefined) view.root.querySelector(`.line[data-number="${focused}"]`)?.focus({ preventScroll: true });
}

function choose(view, number) {
  view.chosen = number;
  for (const button of view.root.querySelectorAll(".line")) {
    const isChosen = Number(button.dataset.number) === number;
    button.setAttribute("aria-pressed", String(isChosen));
    button.closest("tr").classList.toggle("chosen", isChosen);
    if (isChosen) view.roving.rest(button);
  }
}

function head(tokens) {
  const box = element("thead", "");
  const row = element("tr", "");
  for (const [name, text] of [["code", say("line")], ["parts", say("computed by")]]) row.append(heading(name, text));
  for (const token of tokens) row.append(heading("token", token));
  box.append(row);
  return box;
}

function heading(name, text) {
  const cell = element("th", name, text);
  cell.scope = "col";
  return cell;
}

function lines({ rows, tokens }) {
  const box = element("tbody", "lines");
  for (const row of rows) box.append(line(row, tokens));
  return box;
}

/**
 * @param {Row} row
 * @param {string[]} tokens
 */
function line({ number, source, parts, values, changed, isMistaken, note }, tokens) {
  const row = element("tr", isMistaken ? "mistaken" : "");
  const place = element("th", "code");
  place.scope = "row";
  const button = element("button", "line");
  Object.assign(button, { type: "button", tabIndex: -1 });
  button.dataset.number = number;
  button.title = source; // which may be cut
  button.append(element("span", "number", String(number)), element("code", "source", source));
  place.append(button);
  const by = element("td", "parts");
  for (const part of parts) by.append(element("span", "part", part));
  row.append(place, by, ...cells(values, changed, tokens, note));
  return row;
}

function cells(values, changed, tokens, note) {
  if (!values.length) {
    const cell = element("td", "note", note);
    cell.colSpan = tokens.length;
    return [cell];
  }
  return values.map((value, i) => {
    const isChanged = changed.includes(i);
    const cell = element("td", isChanged ? "value changed" : "value", value);
    if (isChanged) cell.append(element("span", "aside", say("changed")));
    return cell;
  });
}

function outputs({ outputs: rows, tokens }) {
  const box = element("tfoot", "");
  for (const { name, values, changed } of rows) {
    const row = element("tr", "");
    const title = element("th", "code", name);
    title.scope = "row";
    title.colSpan = 2;
    row.append(title, ...cells(values, changed, tokens, "–"));
    box.append(row);
  }
  return box;
}
