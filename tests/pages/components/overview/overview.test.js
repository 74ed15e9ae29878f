// The overview as a component: what each head says, shows and sends, and what stays when newer data comes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { areSame, announced, point, press, setTheme } from "../../dom.js";
import { bytesOf, dataOf, group, GROUPS, headsOf, isPainted, lay, MEASURE, overviewOf, patternsOf } from "./heads.js";
import { shownHead } from "../../../../headlight/components/kit/channel.js";

const texts = (elements) => elements.map(({ textContent }) => textContent);
const pressed = (overview) => overview.names().filter((_, i) => overview.buttons()[i].getAttribute("aria-pressed") === "true");
const stops = (overview) => overview.names().filter((_, i) => overview.buttons()[i].tabIndex === 0);
const chosen = (revision, attention, layer, head) => ({ chosen: { revision, value: { attention, layer, head } } });
const over = (element) => point(element, "mouseover");
const shift = (element) => element.dispatchEvent(new MouseEvent("click", { bubbles: true, composed: true, shiftKey: true }));
const cellOf = (overview, ...head) => overview.button(...head).closest(".cell");
const at = (attention, layer, head) => ({ attention, layer, head });
const allPainted = (overview, bytes, theme, groups = GROUPS) => {
  const patterns = patternsOf(groups, bytes);
  return headsOf(groups).every((head, i) => isPainted(overview, head, patterns[i], theme));
};

test("each head is named by its attention, layer, head and strongest cell, and stands in the row of its layer", () => {
  const overview = overviewOf();
  assert.deepEqual(overview.names(), headsOf(GROUPS).map(({ attention, layer, head }) => `${attention} ${layer} ${head}`));
  for (const { attention, layer, head } of headsOf(GROUPS)) {
    const label = `${attention} attention L${layer}.H${head}. Strongest: “${attention}” → “${layer}-${head}” 0.5`;
    assert.equal(overview.button(attention, layer, head).getAttribute("aria-label"), label);
  }
  assert.deepEqual(texts(overview.findAll("h2")), ["encoder attention", "cross attention"]);
});

test("a click chooses a head at once, sends it, says it, and shows its pattern elsewhere", () => {
  const bytes = bytesOf(GROUPS);
  const heard = [];
  const gone = new AbortController();
  shownHead.listen((head) => heard.push(head), gone.signal);
  const overview = overviewOf();
  overview.button("cross", 1, 2).click();
  assert.deepEqual(pressed(overview), ["cross 1 2"]);
  assert.deepEqual(stops(overview), ["cross 1 2"]);
  assert.deepEqual(overview.told, [["chosen", { revision: 2, value: at("cross", 1, 2) }]]);
  assert.equal(announced(), "Chosen: cross attention L1.H2");
  const index = headsOf(GROUPS).findIndex((it) => it.attention === "cross" && it.layer === 1 && it.head === 2);
  const [{ attention, layer, head, rows, columns, levels, step }] = heard;
  assert.deepEqual([attention, layer, head, rows, columns, step], ["cross", 1, 2, 5, 3, undefined]);
  assert.deepEqual([...levels], [...patternsOf(GROUPS, bytes)[index]]);
  gone.abort();
});

test("what the server chose holds, unless a person has chosen another head since", () => {
  const overview = overviewOf();
  assert.deepEqual(pressed(overview), ["encoder 0 1"]);
  assert.deepEqual(stops(overview), ["encoder 0 1"]);
  overview.update(dataOf(chosen(2, "encoder", 1, 1)));
  assert.deepEqual(pressed(overview), ["encoder 1 1"]);
  overview.button("cross", 0, 1).click();
  overview.update(dataOf(chosen(2, "encoder", 1, 1)));
  assert.deepEqual(pressed(overview), ["cross 0 1"]);
  overview.update(dataOf(chosen(4, "cross", 2, 1)));
  assert.deepEqual(pressed(overview), ["cross 2 1"]);
});

test("the arrow keys go over all heads in their order, of every attention, and the ends of rows and columns are ends", () => {
  const overview = overviewOf();
  const from = (name, key) => {
    const event = press(overview.button(...name), key);
    const root = overview.root.getRootNode();
    assert.ok(event.defaultPrevented);
    return overview.names()[overview.buttons().indexOf(root.activeElement)];
  };
  assert.equal(from(["encoder", 0, 1], "ArrowDown"), "encoder 1 1");
  assert.equal(from(["encoder", 1, 2], "ArrowDown"), "cross 0 2");
  assert.equal(from(["encoder", 1, 2], "PageDown"), "cross 2 2");
  assert.deepEqual(stops(overview), ["cross 2 2"]);
  assert.ok(!press(overview.button("cross", 1, 2), "p").defaultPrevented);
  assert.deepEqual(overview.told, []);
});

test("heads are combined by a click with Shift and by P, which do not choose; without a combination Shift is nothing", () => {
  const overview = overviewOf({ canPin: true });
  shift(overview.button("cross", 2, 1));
  assert.ok(press(overview.button("encoder", 1, 2), "p").defaultPrevented);
  press(overview.button("encoder", 1, 1), "P");
  assert.deepEqual(overview.told, [["pinned", at("cross", 2, 1)], ["pinned", at("encoder", 1, 2)], ["pinned", at("encoder", 1, 1)]]);
  assert.deepEqual(pressed(overview), ["encoder 0 1"]);
  overview.update(dataOf({ canPin: false }));
  shift(overview.button("cross", 2, 1));
  assert.deepEqual(overview.told.at(-1), ["chosen", { revision: 2, value: at("cross", 2, 1) }]);
});

test("a combined head has its hue and says so, and no longer once it is let go", () => {
  const pin = { ...at("cross", 1, 2), hue: "#123456" };
  const overview = overviewOf({ canPin: true, pinned: [pin, { ...at("encoder", 0, 2), hue: "#654321" }] });
  const combined = () => overview.names().filter((_, i) => overview.buttons()[i].classList.contains("pinned"));
  const hue = (...head) => overview.button(...head).style.getPropertyValue("--hue");
  assert.deepEqual(combined(), ["encoder 0 2", "cross 1 2"]);
  assert.deepEqual([hue("cross", 1, 2), hue("encoder", 0, 2), hue("cross", 2, 1)], ["#123456", "#654321", ""]);
  assert.match(overview.button("cross", 1, 2).getAttribute("aria-label"), /0\.5\. combined$/);
  overview.update(dataOf({ canPin: true, pinned: [{ ...at("encoder", 0, 2), hue: "#ff0000" }] }));
  assert.deepEqual(combined(), ["encoder 0 2"]);
});

test("a measure is drawn from where zero lies, written with its unit and said; and goes when there is none", () => {
  const overview = overviewOf({ measure: MEASURE });
  const bar = (...head) => {
    const { style } = cellOf(overview, ...head).querySelector(".bar");
    return ["--start", "--end"].map((name) => Number(style.getPropertyValue(name)));
  };
  const number = (...head) => [".number", ".unit"].map((name) => cellOf(overview, ...head).querySelector(name).textContent);
  assert.deepEqual(bar("encoder", 0, 2), [0, 0.25]);
  assert.deepEqual(number("encoder", 0, 0), ["0.50", "nats"]);
  assert.deepEqual(number("encoder", 1, 1), ["", ""]);
  assert.match(overview.button("encoder", 1, 2).getAttribute("aria-label"), /\. entropy 3\.00 nats$/);
  assert.match(overview.button("encoder", 1, 1).getAttribute("aria-label"), /\. entropy: not applicable$/);
  const legend = overview.find(".legend");
  assert.ok(!legend.hidden && overview.root.classList.contains("measured"));
  assert.equal(legend.textContent, "bar: entropy, 0 to 4 nats");

  const signed = { ...MEASURE, name: "effect", unit: "", ends: [-1, 3], values: { encoder: [[-0.5, 2, 0], [null, 3, -1]] } };
  overview.update(dataOf({ measure: signed }));
  assert.deepEqual([bar("encoder", 0, 0), bar("encoder", 0, 1), bar("encoder", 0, 2)], [[0.125, 0.25], [0.25, 0.75], [0.25, 0.25]]);

  overview.update(dataOf());
  assert.ok(legend.hidden && !overview.root.classList.contains("measured"));
});

test("a head that is pointed at, with the pointer or the focus, has a tip, which follows newer data and goes", () => {
  const overview = overviewOf({ measure: MEASURE });
  const tip = overview.find(".tip");
  over(overview.button("cross", 1, 3));
  assert.deepEqual(texts([...tip.children]), ["cross attention L1.H3", "“cross” → “1-3” 0.5", "entropy 1.25 nats"]);
  assert.ok(!tip.hidden);
  overview.update(dataOf({ canPin: true }));
  assert.deepEqual(texts([...tip.children]).slice(2), ["shift-click: add to the combination"]);
  point(overview.find(".groups"), "mouseleave");
  assert.ok(tip.hidden);
  overview.update(dataOf({ measure: MEASURE }));
  press(overview.button("encoder", 0, 1), "ArrowDown");
  assert.ok(!tip.hidden && tip.textContent.startsWith("encoder attention L1.H1"));
  overview.update(dataOf({ measure: MEASURE, version: "2" }));
  assert.ok(tip.hidden); // its pictures are others
});

test("another model makes its own heads, and another text of the same keeps the buttons", () => {
  const overview = overviewOf();
  const before = overview.buttons();
  const longer = [group("encoder", 2, 3, 6, 6), group("cross", 3, 4, 2, 6)];
  longer[1].strongest[1][2] = "“new” → “words” 0.9";
  overview.update(dataOf({ version: "2", groups: longer }));
  assert.ok(areSame(overview.buttons(), before));
  lay(overview, longer);
  assert.ok(allPainted(overview, bytesOf(longer), "light", longer));
  setTheme("dark");
  assert.ok(allPainted(overview, bytesOf(longer), "dark", longer));
  setTheme("light");
  assert.match(overview.button("cross", 1, 2).getAttribute("aria-label"), /“new” → “words” 0\.9/);
  for (const changed of [group("encoder", 3, 3, 4, 4), group("decoder", 3, 3, 4, 4)]) {
    const former = overview.buttons();
    overview.update(dataOf({ version: JSON.stringify(changed), groups: [changed], ...chosen(1, "encoder", 0, 1) }));
    assert.ok(overview.buttons().every((it) => !former.includes(it)));
    assert.equal(stops(overview).length, 1); // the keyboard comes to it, whether the chosen one is there or not
    lay(overview, [changed]);
    assert.ok(allPainted(overview, bytesOf([changed]), "light", [changed]));
  }
});

test("only some attentions are drawn, and the Tab key comes to one of them", () => {
  const overview = overviewOf({ only: ["cross"] });
  assert.deepEqual(texts(overview.findAll("h2")), ["cross attention"]);
  assert.equal(overview.buttons().length, 12);
  assert.deepEqual(stops(overview), ["cross 0 0"]); // the chosen one is of another
  overview.update(dataOf());
  assert.equal(overview.buttons().length, 18);
});
