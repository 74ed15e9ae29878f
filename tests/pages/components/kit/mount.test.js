// How components come onto the page and leave it, and what they share there: themes, words that are heard, buttons.

import assert from "node:assert/strict";
import { test } from "node:test";

import { all, announced, setTheme, shown } from "../../dom.js";
import { announce } from "../../../../pages/components/kit/announce.js";
import { leaving, mount } from "../../../../pages/components/kit/mount.js";
import { makePlayButtons, showPlaying } from "../../../../pages/components/kit/play_buttons.js";
import { watchTheme } from "../../../../pages/components/kit/theme.js";

const styles = ["./overview.css"];
const url = new URL("../../../../pages/components/overview/overview.js", import.meta.url).href;

/** A component that writes down what becomes of it. */
async function component(name = "overview") {
  const log = [];
  const show = await mount(url.replace(/overview\.js$/, `${name}.js`), {
    styles,
    make: (root) => (log.push("make"), root.append("made"), leaving(root).addEventListener("abort", () => log.push("left")), { root }),
    update: (view, data, send) => {
      log.push(`update ${data}`);
      view.send = send;
    },
  });
  return { show, log };
}

test("a component is made once, updated each time, and cleaned up when it has left", async () => {
  const { show, log } = await component();
  const one = shown(show, "overview", 1);
  one.update(2);
  assert.deepEqual(log, ["make", "update 1", "update 2"]);
  one.root.view.send("name", 3);
  assert.deepEqual(one.told, [["name", 3]]);
  const { root } = one;
  assert.equal(root.textContent, "made");
  one.leave();
  assert.deepEqual(log.slice(3), ["left"]);
  assert.deepEqual([root.textContent, root.view], ["", undefined]);
});

test("a root that comes back is filled again, and leaves again", async () => {
  const { show, log } = await component();
  const parent = document.body.appendChild(document.createElement("div"));
  const root = parent.appendChild(Object.assign(document.createElement("div"), { className: "overview" }));
  const given = { data: 1, parentElement: parent, setTriggerValue: () => {} };
  for (let times = 1; times <= 2; times++) {
    const cleanUp = show(given);
    assert.ok(!leaving(root).aborted);
    parent.remove();
    cleanUp();
    assert.deepEqual(log.splice(0), ["make", "update 1", "left"]);
    document.body.append(parent);
  }
  parent.remove();
});

test("newer data that overtakes does not throw the component away", async () => {
  const { show, log } = await component();
  const parent = document.body.appendChild(document.createElement("div"));
  parent.append(Object.assign(document.createElement("div"), { className: "overview" }));
  const given = { data: 1, parentElement: parent, setTriggerValue: () => {} };
  const cleanUp = show(given);
  show({ ...given, data: 2 });
  cleanUp();
  assert.deepEqual(log, ["make", "update 1", "update 2"]);
  assert.ok(parent.firstChild.view);
  parent.remove();
  cleanUp();
  assert.equal(log.at(-1), "left");
});

test("what left while its module was on the way is not made", async () => {
  const { show, log } = await component();
  const parent = document.createElement("div");
  const given = { data: 1, parentElement: parent, setTriggerValue: () => {} };
  assert.equal(show(given), undefined);
  parent.append(Object.assign(document.createElement("div"), { className: "overview" }));
  assert.equal(show(given), undefined); // it is there, but not on the page
  assert.deepEqual(log, []);
});

test("its styles are there once for all of its kind, in its shadow or on the page", async () => {
  const [{ show }, { show: other }] = [await component(), await component()];
  for (const isolated of [true, false]) {
    const one = shown(show, "overview", 1, { isolated });
    const { adoptedStyleSheets: sheets } = one.root.getRootNode();
    const n = sheets.length;
    assert.ok(n >= 2);
    one.update(2);
    const beside = shown(show, "overview", 1, { isolated });
    assert.equal(sheets.length, n);
    assert.equal(beside.root.getRootNode().adoptedStyleSheets.length, n);
    shown(other, "overview", 1, { isolated: false }).leave();
    one.leave();
    beside.leave();
  }
});

test("styles that cannot be read are an error that says which", async () => {
  const { fetch } = globalThis;
  globalThis.fetch = async () => ({ ok: false, status: 404 });
  await assert.rejects(component(), /css cannot be read: 404/);
  globalThis.fetch = fetch;
});

test("what keeps a place free on the page hears that it is filled, of a component in a shadow", async () => {
  const { show } = await component();
  const container = document.body.appendChild(document.createElement("div"));
  container.dataset.testid = "stElementContainer";
  const host = container.appendChild(document.createElement("div"));
  const root = Object.assign(document.createElement("div"), { className: "overview" });
  host.attachShadow({ mode: "open" }).append(root);
  assert.ok(!container.hasAttribute("data-drawn"));
  const cleanUp = show({ data: 1, parentElement: host.shadowRoot, setTriggerValue: () => {} });
  assert.ok(container.hasAttribute("data-drawn"));
  container.remove();
  cleanUp();
  shown(show, "overview", 1); // without such a place
});

test("the theme follows the background, and a watcher hears of each change once", () => {
  const parent = document.body.appendChild(document.createElement("div"));
  const heard = [];
  const name = watchTheme(parent, (theme) => heard.push(theme));
  assert.equal(name(), "light");
  setTheme("light");
  assert.deepEqual(heard, []);
  setTheme("dark");
  assert.deepEqual([heard, name()], [["dark"], "dark"]);
  setTheme("dark");
  setTheme("light");
  assert.deepEqual([heard, name()], [["dark", "light"], "light"]);
  const computed = globalThis.getComputedStyle;
  const on = (backgroundColor) => {
    globalThis.getComputedStyle = () => ({ backgroundColor });
    return name();
  };
  // As bright as it looks: green most, blue least.
  assert.deepEqual(["rgb(0, 255, 0)", "rgb(255, 0, 0)", "rgb(0, 0, 255)", "rgb(255, 0, 255)"].map(on), ["light", "dark", "dark", "dark"]);
  assert.deepEqual(["rgb(128, 128, 128)", "rgb(127, 127, 127)", "rgb(200, 110, 100)", ""].map(on), ["light", "dark", "light", "light"]);
  globalThis.getComputedStyle = computed;
  assert.equal(parent.firstChild.getAttribute("aria-hidden"), "true");
  parent.remove();
});

test("what changed is said in one place below the page, which comes back if it was taken away", () => {
  announce("one");
  announce("two");
  const [region, ...others] = document.querySelectorAll(".hl-announced");
  assert.ok(others.length === 0 && region.parentNode === document.body);
  assert.equal(announced(), "two");
  assert.equal(region.role ?? region.getAttribute("role"), "status");
  let nChanges = 0;
  const text = region.firstChild;
  announce("two");
  nChanges += region.firstChild !== text;
  assert.equal(nChanges, 0); // the same text is not announced twice
  region.remove();
  announce("three");
  assert.equal(all(".hl-announced").length, 1);
  assert.equal(announced(), "three");
});

test("the buttons of a player have their names without keys, do their own each, and show what a press does next", () => {
  const done = [];
  const does = (name) => [`${name} it (key)`, () => done.push(name)];
  const [group, buttons] = makePlayButtons("Playing", { begin: does("begin"), back: does("back"), play: does("play"), forward: does("forward"), end: does("end") });
  assert.deepEqual([group.getAttribute("role"), group.getAttribute("aria-label"), group.className], ["group", "Playing", "player"]);
  assert.deepEqual([...group.children], Object.values(buttons));
  for (const [name, button] of Object.entries(buttons)) {
    button.click();
    assert.deepEqual([done.at(-1), button.title, button.getAttribute("aria-label"), button.type, button.className], [name, `${name} it (key)`, `${name} it`, "button", name]);
  }
  const drawn = () => Object.values(buttons).map((button) => button.querySelector("svg path").getAttribute("d"));
  assert.equal(new Set(drawn()).size, 5);
  const { play } = buttons;
  const says = (...how) => {
    showPlaying(play, ...how);
    return [play.title, play.getAttribute("aria-label"), drawn()[2]];
  };
  const [title, label, triangle] = says(false, false);
  assert.deepEqual([title, label], ["Play (space)", "Play"]);
  const [pause, paused, bars] = says(true, false);
  assert.deepEqual([pause, paused], ["Pause (space)", "Pause"]);
  assert.notEqual(bars, triangle);
  assert.deepEqual(says(false, true), ["Play again (space)", "Play again", triangle]);
  assert.equal(says(true, true)[1], "Pause");
});
