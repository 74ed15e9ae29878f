// The overview as a component: what each head says, shows and sends, and what stays when newer data comes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { areSame, announced, place, point, press, resize, setTheme } from "../../dom.js";
import { bytesOf, dataOf, group, GROUPS, headsOf, isPainted, lay, MEASURE, overviewOf, patternsOf } from "./heads.js";
import { shownHead } from "../../../../pages/components/kit/channel.js";

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
  const [encoder, cross] = overview.findAll("section");
  assert.deepEqual([encoder, cross].map((it) => it.getAttribute("aria-label")), ["encoder attention", "cross attention"]);
  assert.deepEqual(texts([...encoder.querySelectorAll(".row")]), ["layer 0", "layer 1"]);
  assert.deepEqual(texts([...cross.querySelectorAll(".row")]), ["layer 0", "layer 1", "layer 2"]);
  assert.deepEqual(texts([...cross.querySelectorAll(".column")]), ["head 0", "head 1", "head 2", "head 3"]);
  const order = [...cross.querySelectorAll(".row, button.head")].map((it) => it.classList[0]).join(" ");
  assert.equal(order, Array(3).fill("row head head head head").join(" "));
  assert.ok(overview.find(".legend").hidden && overview.find(".tip").hidden);
  assert.equal(overview.find("canvas.pixels").getAttribute("aria-hidden"), "true");
  assert.ok(overview.buttons().every(({ type }) => type === "button"));
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
  press(overview.button("encoder", 1, 0), "Enter");
  assert.deepEqual(overview.told[1], ["chosen", { revision: 3, value: at("encoder", 1, 0) }]);
  assert.deepEqual(pressed(overview), ["encoder 1 0"]);
  assert.equal(heard.length, 2);
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
  overview.update(dataOf(chosen(3, "cross", 0, 1)));
  overview.update(dataOf(chosen(4, "cross", 2, 1)));
  assert.deepEqual(pressed(overview), ["cross 2 1"]);
  overview.update(dataOf({ ...chosen(1, "encoder", 0, 0), only: ["cross"] })); // late
  assert.deepEqual(pressed(overview), ["cross 2 1"]);
});

test("the arrow keys go over all heads as they stand, of every attention, and the ends of rows and columns are ends", () => {
  const overview = overviewOf();
  const from = (name, key) => {
    const event = press(overview.button(...name), key);
    const root = overview.root.getRootNode();
    assert.ok(event.defaultPrevented);
    return overview.names()[overview.buttons().indexOf(root.activeElement)];
  };
  assert.equal(from(["encoder", 0, 1], "ArrowRight"), "encoder 0 2");
  assert.equal(from(["encoder", 0, 2], "ArrowRight"), "encoder 0 2");
  assert.equal(from(["encoder", 0, 1], "ArrowDown"), "encoder 1 1");
  assert.equal(from(["encoder", 1, 2], "ArrowDown"), "cross 0 2");
  assert.equal(from(["cross", 0, 3], "ArrowUp"), "encoder 1 2");
  assert.equal(from(["cross", 1, 2], "Home"), "cross 1 0");
  assert.equal(from(["cross", 1, 2], "End"), "cross 1 3");
  assert.equal(from(["cross", 1, 2], "PageUp"), "encoder 0 2");
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
  assert.ok(overview.buttons().every((it) => it.getAttribute("aria-keyshortcuts") === "p"));
  overview.update(dataOf({ canPin: false }));
  assert.ok(overview.buttons().every((it) => !it.hasAttribute("aria-keyshortcuts")));
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
  over(overview.button("cross", 1, 2));
  assert.match(overview.find(".tip .hint").textContent, /remove/);
  overview.update(dataOf({ canPin: true, pinned: [{ ...at("encoder", 0, 2), hue: "#ff0000" }] }));
  assert.deepEqual(combined(), ["encoder 0 2"]);
  assert.deepEqual([hue("cross", 1, 2), hue("encoder", 0, 2)], ["", "#ff0000"]);
  assert.doesNotMatch(overview.button("cross", 1, 2).getAttribute("aria-label"), /combined/);
  assert.match(overview.find(".tip .hint").textContent, /add/); // the tip is still open
});

test("a measure is drawn from where zero lies, written with its unit and said; and goes when there is none", () => {
  const overview = overviewOf({ measure: MEASURE });
  const bar = (...head) => {
    const { style } = cellOf(overview, ...head).querySelector(".bar");
    return ["--start", "--end"].map((name) => Number(style.getPropertyValue(name)));
  };
  const number = (...head) => [".number", ".unit"].map((name) => cellOf(overview, ...head).querySelector(name).textContent);
  assert.deepEqual(bar("encoder", 0, 2), [0, 0.25]);
  assert.deepEqual([bar("cross", 2, 1), bar("cross", 2, 3), bar("cross", 2, 0)], [[0, 1], [0, 0], [0, 1]]);
  assert.deepEqual(number("encoder", 0, 0), ["0.50", "nats"]);
  assert.deepEqual(number("encoder", 1, 1), ["", ""]);
  const isNone = (...head) => cellOf(overview, ...head).querySelector(".bar").classList.contains("none");
  assert.deepEqual([isNone("encoder", 1, 1), isNone("cross", 2, 2), isNone("encoder", 1, 2)], [true, true, false]);
  assert.match(overview.button("encoder", 1, 2).getAttribute("aria-label"), /\. entropy 3\.00 nats$/);
  assert.match(overview.button("encoder", 1, 1).getAttribute("aria-label"), /\. entropy: not applicable$/);
  const legend = overview.find(".legend");
  assert.ok(!legend.hidden && overview.root.classList.contains("measured"));
  assert.equal(legend.textContent, "bar: entropy, 0 to 4 natslow: looks at one; high: looks at all");
  assert.equal(legend.title, "How widely a head looks\nlow: looks at one; high: looks at all");

  const signed = { ...MEASURE, name: "effect", unit: "", low: "", high: "", ends: [-1, 3], values: { encoder: [[-0.5, 2, 0], [null, 3, -1]] } };
  overview.update(dataOf({ measure: signed }));
  assert.deepEqual([bar("encoder", 0, 0), bar("encoder", 0, 1), bar("encoder", 0, 2)], [[0.125, 0.25], [0.25, 0.75], [0.25, 0.25]]);
  assert.deepEqual([number("encoder", 0, 0), number("cross", 0, 0)], [["−0.50", ""], ["", ""]]);
  assert.deepEqual([isNone("encoder", 1, 0), isNone("encoder", 1, 1), isNone("cross", 0, 0)], [true, false, true]);
  assert.match(overview.button("encoder", 0, 0).getAttribute("aria-label"), /\. effect −0\.50$/);
  assert.equal(legend.textContent, "bar: effect, −1 to 3");
  assert.equal(legend.title, "How widely a head looks");
  overview.update(dataOf({ measure: signed, order: "descending" }));
  assert.equal(legend.textContent, "bar: effect, −1 to 3; descending");
  overview.update(dataOf({ measure: { ...MEASURE, ends: [0.25, 10.5] }, order: "ascending" }));
  assert.equal(legend.children[1].textContent, "bar: entropy, 0.25 to 10.5 nats; ascending");
  overview.update(dataOf({ measure: { ...MEASURE, ends: [0, 100], unit: "" } })); // the distance in a text of 101 keys
  assert.equal(legend.children[1].textContent, "bar: entropy, 0 to 100");

  overview.update(dataOf());
  assert.ok(legend.hidden && !overview.root.classList.contains("measured"));
  assert.equal(overview.findAll(".bar").length, 0);
  assert.doesNotMatch(overview.button("encoder", 1, 2).getAttribute("aria-label"), /entropy/);
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
  overview.update(dataOf({ measure: MEASURE })); // what was pointed at is not, any longer
  assert.ok(tip.hidden);
  press(overview.button("encoder", 0, 1), "ArrowDown");
  assert.ok(!tip.hidden && tip.textContent.startsWith("encoder attention L1.H1"));
  overview.root.dispatchEvent(new Event("scroll"));
  assert.ok(tip.hidden);
  over(overview.button("encoder", 0, 0));
  assert.ok(!tip.hidden);
  over(overview.find("h2"));
  assert.match(tip.textContent, /^encoder attention L1\.H1/); // which has the focus
  overview.update(dataOf({ measure: MEASURE, version: "2" }));
  assert.ok(tip.hidden); // its pictures are others
});

test("a tip lies below its head, or above where there is no room, and stays within the overview", () => {
  const overview = overviewOf({ measure: MEASURE }, { size: [500, 300] });
  const tip = overview.find(".tip");
  place(overview.root, { left: 20, top: 30, width: 500, height: 300 });
  place(tip, { width: 200, height: 70 });
  const shownFor = (left, top) => {
    const button = overview.button("encoder", 1, 1);
    place(button, { left, top, width: 50, height: 40 });
    over(button);
    return [tip.style.left, tip.style.top].map(parseFloat);
  };
  const [left, top] = shownFor(220, 80);
  assert.equal(left, 220 + 25 - 20 - 100); // in the middle below
  assert.ok(top >= 80 + 40 - 30 + 9 && top < 80 + 40 - 30 + 30);
  const [, high] = shownFor(220, 280);
  assert.ok(high + 70 <= 280 - 30 && high > 280 - 30 - 70 - 20);
  assert.equal(shownFor(25, 80)[0], 0);
  assert.equal(shownFor(460, 80)[0], 300);
  Object.assign(overview.root, { scrollTop: 100, scrollLeft: 15 });
  const [along, scrolled] = shownFor(220, 80);
  assert.deepEqual([along - left, scrolled - top], [15, 100]);
});

test("all pictures are painted, anew for another version, another size or another theme", () => {
  const overview = overviewOf();
  lay(overview);
  const [first, second] = [3, 4].map((seed) => bytesOf(GROUPS, seed));
  assert.ok(allPainted(overview, first));
  overview.update(dataOf({ version: "2" }, 4));
  assert.ok(allPainted(overview, second));
  setTheme("dark");
  assert.ok(allPainted(overview, second, "dark"));
  setTheme("light");
  assert.ok(allPainted(overview, second));
  place(overview.button("cross", 2, 3), { left: 20, top: 72, width: 12, height: 20 });
  resize(overview.find(".field"), 700, 140);
  assert.ok(allPainted(overview, second));
  const canvas = overview.find("canvas.pixels");
  assert.deepEqual([canvas.width, canvas.height, canvas.style.width, canvas.style.height], [700, 140, "700px", "140px"]);
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
  assert.match(overview.button("cross", 1, 2).getAttribute("aria-label"), /“new” → “words” 0\.9/);
  for (const changed of [group("encoder", 3, 3, 4, 4), group("encoder", 3, 2, 4, 4), group("decoder", 3, 2, 4, 4)]) {
    const former = overview.buttons();
    overview.update(dataOf({ version: JSON.stringify(changed), groups: [changed], ...chosen(1, "encoder", 0, 1) }));
    assert.equal(overview.buttons().length, changed.layers * changed.heads);
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
  overview.update(dataOf({ only: ["encoder"] }));
  assert.deepEqual(stops(overview), ["encoder 0 1"]);
  overview.update(dataOf());
  assert.equal(overview.buttons().length, 18);
});

test("the chosen head is scrolled into the overview, past what stays at its top", () => {
  const overview = overviewOf({}, { size: [500, 300] });
  place(overview.root, { left: 0, top: 30, width: 500, height: 300 });
  const chooseAt = (revision, top, more = {}) => {
    overview.root.scrollTop = 400;
    place(overview.button("cross", 2, 1), { left: 0, top, width: 50, height: 40 });
    overview.update(dataOf({ ...chosen(revision, "cross", 2, 1), ...more }));
    return overview.root.scrollTop - 400;
  };
  assert.equal(chooseAt(2, 200), 0);
  assert.equal(chooseAt(3, 290), 0); // its edge is the overview's
  const down = chooseAt(4, 340);
  assert.ok(down >= 340 + 40 - 330 && down < 340 + 40 - 330 + 20);
  const up = chooseAt(5, 10);
  assert.ok(up <= -(30 - 10) - 28);
  assert.ok(chooseAt(6, 10, { measure: MEASURE }) <= up - 20);
});
