// A number and its formula, with the value of each symbol and each summand in it, and what other computations give.

import { fixed, scientific, significant, thousands } from "../../../../../headlight/components/kit/numbers.js";
import { element } from "../../../../../headlight/components/kit/elements.js";
import { isAwaited } from "./asked.js";
import { mount } from "../../../../components/kit/mount.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { makeMath, MATH } from "./formula.js";

const AT_ONCE = 12; // terms; of more, the largest, as far as they are not 0
const ALL = 16; // terms that are all shown
const PATIENCE = 5000; // ms after a click in the figure in which the answer comes into sight

export default await mount(import.meta.url, {
  styles: ["./steps_number.css"],
  make: (root) => ({ root }),
  update,
});

function update(view, data) {
  const { root } = view;
  const value = Number(data.value);
  const head = element("div", "head");
  head.append(element("span", "place", data.place), element("strong", "value", `= ${exact(value)}`));
  const formula = element("div", "formula");
  formula.append(mathOf(data.formula, "block"), ...data.constants.map(constant));
  const parts = [head, formula];
  if (data.note) parts.push(element("p", "note", data.note));
  if (data.terms.length) parts.push(termsOf(data));
  parts.push(checks(data));
  root.replaceChildren(...parts);
  if (!isAwaited(PATIENCE)) return;
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  requestAnimationFrame(() => root.scrollIntoView({ block: "nearest", behavior: isCalm ? "auto" : "smooth" }));
}

function mathOf(tree, display) {
  const math = document.createElementNS(MATH, "math");
  math.setAttribute("display", display);
  math.append(makeMath(tree));
  return math;
}

function constant([symbol, given]) {
  const node = element("span", "constant");
  const number = Number(given);
  const whole = String(number); // such as 32, or 0.00001
  node.append(mathOf(symbol, "inline"), ` = ${whole.length < 9 ? whole.replace("-", "−") : exact(number)}`);
  return node;
}

function termsOf(data) {
  const { terms, factors } = data;
  const box = element("div", "terms");
  const size = (term) => Math.abs(Number(term.value)) || 0;
  const most = Math.max(...terms.map(size), 1e-30);
  const isLong = terms.length > ALL;
  const sorted = isLong ? [...terms].sort((one, other) => size(other) - size(one)) : terms;
  const make = (term) => {
    const node = element("span", "term");
    node.style.setProperty("--share", `${(100 * size(term)) / most}%`);
    node.classList.toggle("below", Number(term.value) < 0);
    const product = element("span", "product");
    product.append(factor(term.a, factors[0]));
    if (term.b !== null) product.append(" · ", factor(term.b, factors[1]));
    node.append(element("bdi", "label", term.label), product);
    node.append(element("b", "sum", term.b === null ? `e^(S − max) = ${short(term.value)}` : short(term.value)));
    return node;
  };
  const nAtOnce = Math.min(AT_ONCE, Math.max(1, terms.filter(({ value }) => Number(value) !== 0).length));
  box.append(...(isLong ? sorted.slice(0, nAtOnce) : sorted).map(make));
  if (!isLong) return box;
  const rest = sorted.slice(nAtOnce);
  const together = rest.reduce((sum, { value }) => sum + Number(value), 0);
  const values = { n: thousands(rest.length), sum: short(together) };
  const more = element("button", "more", say("and {n} more, sum {sum}", values));
  more.type = "button";
  more.addEventListener("click", () => {
    const node = rest.map(make);
    more.replaceWith(...node);
    node[0].tabIndex = -1;
    node[0].focus({ preventScroll: true });
  });
  box.append(more);
  return box;
}

function factor(number, of) {
  const node = element("span", "factor", short(number));
  if (of?.hue) node.style.setProperty("--hue", of.hue);
  return node;
}

function checks({ value, recomputed, difference, torch, torchName }) {
  const table = element("dl", "checks");
  const row = (name, number, what = "") => {
    const line = element("div", "");
    line.append(element("dt", "", name), element("dd", "", number), element("dd", "what", what));
    table.append(line);
  };
  const away = (gap) => say("difference {number}", { number: gap ? scientific(gap, 1) : "0" });
  row(say("Model"), exact(Number(value)));
  row(say("Recomputed in float64"), exact(Number(recomputed)), away(Number(difference)));
  if (torch !== null) {
    const gap = Number(torch) === Number(value) ? 0 : Math.abs(Number(torch) - Number(value));
    row(torchName, exact(Number(torch)), away(gap));
  }
  return table;
}

function exact(number) {
  if (!Number.isFinite(number)) return fixed(number, 0);
  return number && Math.abs(number) < 1e-4 ? scientific(number, 6) : significant(number, 8);
}

function short(given) {
  const number = Number(given);
  const size = Math.abs(number);
  return size && size < 1e-3 ? scientific(number, 1) : fixed(number, size >= 100 ? 1 : 4);
}
