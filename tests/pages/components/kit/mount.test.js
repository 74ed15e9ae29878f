// How components come onto the page and leave it, and what they share there: themes, words that are heard, buttons.

import assert from "node:assert/strict";
import { test } from "node:test";

import { announced, setTheme, shown } from "../../dom.js";
import { announce } from "../../../../headlight/components/kit/announce.js";
import { leaving, mount } from "../../../../pages/components/kit/mount.js";
import { makePlayButtons, showPlaying } from "../../../../headlight/components/kit/play_buttons.js";
import { watchTheme } from "../../../../headlight/components/kit/theme.js";

const styles = ["./overview.css"];
const url = new URL("../../../../headlight/components/overview/overview.js", import.meta.url).href;

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

/** A place for one on the page, and what is given to it there. */
function place() {
  const parent = document.body.appendChild(document.createElement("div"));
  const root = parent.appendChild(Object.assign(document.createElement("div"), { className: "overview" }));
  return { parent, root, given: { data: 1, parentElement: parent, setTriggerValue: () => {} } };
}

test("a component is made once, updated each time, and cleaned up when it has left", async () => {
  const { show, log } = await component();
  const one = shown(show, "overview", 1);
  one.update(2);
  assert.deepEqual(log, ["make", "update 1", "update 2"]);
  one.root.view.send("name", 3);
  assert.deepEqual(one.told, [["name", 3]]);
  one.leave();
  assert.deepEqual(log.slice(3), ["left"]);
});

test("a root that comes back is filled again, and leaves again", async () => {
  const { show, log } = await component();
  const { parent, root, given } = place();
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
  const { parent, given } = place();
  const cleanUp = show(given);
  show({ ...given, data: 2 });
  cleanUp();
  assert.deepEqual(log, ["make", "update 1", "update 2"]);
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

test("what keeps a place free on the page hears that it is filled, of a component in a shadow", async () => {
  const { show } = await component();
  const container = document.body.appendChild(document.createElement("div"));
  container.dataset.testid = "stElementContainer";
  const host = container.appendChild(document.createElement("div"));
  const root = Object.assign(document.createElement("div"), { className: "overview" });
  host.attachShadow({ mode: "open" }).append(root);
  const cleanUp = show({ data: 1, parentElement: host.shadowRoot, setTriggerValue: () => {} });
  assert.ok(container.hasAttribute("data-drawn"));
  container.remove();
  cleanUp();
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
  const computed = globalThis.getComputedStyle;
  const on = (backgroundColor) => {
    globalThis.getComputedStyle = () => ({ backgroundColor });
    return name();
  };
  // As bright as it looks: green most, blue least.
  assert.deepEqual(["rgb(0, 255, 0)", "rgb(255, 0, 0)", "rgb(0, 0, 255)", "rgb(255, 0, 255)"].map(on), ["light", "dark", "dark", "dark"]);
  globalThis.getComputedStyle = computed;
  parent.remove();
});

test("changes are announced in one place below the page, which comes back if it was taken away", () => {
  announce("two");
  assert.equal(announced(), "two");
  const region = document.body.querySelector(".hl-announced");
  const text = region.firstChild;
  announce("two");
  assert.equal(region.firstChild, text); // the same text is not announced twice
  region.remove();
  announce("three");
  assert.equal(announced(), "three");
});

test("the buttons of a player have their names without keys, do their own each, and show what a press does next", () => {
  const done = [];
  const does = (name) => [`${name} it (key)`, () => done.push(name)];
  const [, buttons] = makePlayButtons("Playing", { begin: does("begin"), back: does("back"), play: does("play"), forward: does("forward"), end: does("end") });
  for (const [name, button] of Object.entries(buttons)) {
    button.click();
    assert.deepEqual([done.at(-1), button.title, button.getAttribute("aria-label")], [name, `${name} it (key)`, `${name} it`]);
  }
  const says = (...how) => {
    showPlaying(buttons.play, ...how);
    return [buttons.play.title, buttons.play.getAttribute("aria-label")];
  };
  assert.deepEqual(says(false, false), ["Play (space)", "Play"]);
  assert.deepEqual(says(true, true), ["Pause (space)", "Pause"]);
  assert.deepEqual(says(false, true), ["Play again (space)", "Play again"]);
});
