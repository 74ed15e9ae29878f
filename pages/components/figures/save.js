// What is seen, taken away: a button, and the menu that it opens.
//
// Pictures and the page are made here. What only the server knows, numbers among it, is requested when the menu opens:
// data.files holds it, name by name and base64, in the one run that answers (data.answers is the number of the asking).

import { announce } from "../../../headlight/components/kit/announce.js";
import { element } from "../../../headlight/components/kit/elements.js";
import { leaving } from "../kit/mount.js";
import { say } from "../../../headlight/components/kit/say.js";
import { zip } from "./archive.js";
import { isWhole, sendWindow } from "./cells.js";
import { makePage } from "./page.js";
import { makePicture, toPng, WIDTHS } from "./picture.js";

const KINDS = [
  { ending: "svg", words: say("vector image, for papers and slides") },
  { ending: "png", words: say("pixel image") },
  { ending: "csv", words: say("data table, for any program"), isServers: true },
  { ending: "npz", words: say("arrays, for Python"), isServers: true },
  { ending: "html", words: say("interactive page, works offline") },
  { ending: "zip", words: say("everything in one file"), isServers: true },
];
const TYPES = { svg: "image/svg+xml", png: "image/png", csv: "text/csv", html: "text/html", zip: "application/zip" };

export function makeSaving(view) {
  const saving = { view, width: WIDTHS[0], files: null, buttons: [] };
  saving.bar = element("div", "tools");
  saving.whole = button("tool whole", say("Whole text"), () => sendWindow(view, { queries: null, keys: null }));
  saving.whole.setAttribute("aria-label", say("Show the whole text"));
  saving.opener = button("tool", say("Save"), () => (saving.menu.hidden ? open(saving) : close(saving)));
  saving.opener.setAttribute("aria-haspopup", "dialog");
  saving.menu = element("div", "menu");
  saving.menu.hidden = true;
  saving.menu.tabIndex = -1; // takes the focus where its ground is clicked
  saving.menu.setAttribute("role", "dialog");
  saving.menu.setAttribute("aria-label", say("Save this figure"));
  saving.menu.append(makeWidths(saving), ...KINDS.map((kind) => makeKind(saving, kind)));
  saving.note = element("div", "note");
  saving.menu.append(saving.note);
  saving.bar.append(saving.whole, saving.opener, saving.menu);
  saving.bar.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !saving.bar.contains(relatedTarget)) close(saving);
  });
  const signal = leaving(view.root);
  window.addEventListener("keydown", (event) => escape(saving, event), { capture: true, signal });
  const away = ({ target }) => saving.menu.hidden || saving.bar.contains(target) || close(saving);
  document.addEventListener("pointerdown", away, { signal });
  close(saving);
  return saving;
}

function escape(saving, event) {
  // Closes the menu, and nothing around it: Streamlit's pop-overs listen on the document, before any element does.
  if (event.key !== "Escape" || saving.menu.hidden || !saving.bar.contains(document.activeElement)) return;
  event.preventDefault();
  event.stopPropagation();
  close(saving);
  saving.opener.focus();
}

function button(className, words, onClick) {
  const item = element("button", className, words);
  item.type = "button";
  item.addEventListener("click", onClick);
  return item;
}

function makeWidths(saving) {
  const group = element("fieldset", "widths");
  group.append(element("legend", "", say("Image width")));
  const name = `width-${Math.random()}`; // radio buttons of one name are one choice on the whole page
  for (const width of WIDTHS) {
    const label = element("label", "", width.words);
    const choice = element("input", "");
    Object.assign(choice, { type: "radio", name, checked: width === saving.width });
    choice.addEventListener("change", () => (saving.width = width));
    label.prepend(choice);
    group.append(label);
  }
  return group;
}

function makeKind(saving, kind) {
  const item = button("kind", "", () => save(saving, kind));
  const ending = kind.ending.toUpperCase();
  item.setAttribute("aria-label", say("Save {what} ({ending})", { what: kind.words, ending }));
  item.append(element("b", "", ending), element("span", "", kind.words));
  saving.buttons.push({ kind, item });
  return item;
}

export function open(saving) {
  saving.menu.hidden = false;
  saving.opener.setAttribute("aria-expanded", "true");
  note(saving, "");
  ask(saving);
  saving.menu.querySelector("input:checked").focus();
}

function close(saving) {
  saving.menu.hidden = true;
  saving.opener.setAttribute("aria-expanded", "false");
}

function ask(saving) {
  take(saving, null);
  saving.asked = Date.now();
  saving.view.send("open", saving.asked);
}

function take(saving, files) {
  const { name, figure } = saving.view.data;
  Object.assign(saving, { files, name, figure }); // whose files they are
  showKinds(saving);
}

export function takeFiles(saving) {
  // As data arrives, drawn or not: an answer comes once, and files of a former figure must not be saved as this one's.
  const { data } = saving.view;
  if (data.files && data.answers === saving.asked) return take(saving, data.files);
  if (data.figure === saving.figure && data.name === saving.name) return undefined;
  return saving.menu.hidden ? take(saving, null) : ask(saving);
}

export function updateSaving(saving) {
  // After each drawing, of a preview too.
  saving.whole.hidden = isWhole(saving.view);
  showKinds(saving);
}

function showKinds({ view, files, buttons }) {
  for (const { kind, item } of buttons) {
    item.disabled = !view.drawn || (Boolean(kind.isServers) && !files); // over a preview, the data is not what is seen
    item.lastChild.textContent = item.disabled ? "…" : kind.words;
  }
}

function note(saving, words) {
  saving.note.textContent = words;
  announce(words);
}

async function save(saving, kind) {
  if (saving.isBusy) return;
  saving.isBusy = true;
  note(saving, "…");
  const name = `${saving.view.data.name}.${kind.ending}`;
  try {
    download(name, await make(saving, kind.ending), TYPES[kind.ending]);
    note(saving, say("Saved {name}", { name }));
  } catch (error) {
    note(saving, say("{name} could not be created: {error}.", { name, error: error instanceof Error ? error.message : String(error) }));
  } finally {
    saving.isBusy = false;
  }
}

async function make(saving, ending) {
  const { data, plot } = saving.view;
  const shown = plot.getBoundingClientRect();
  const how = { template: data.templates.light, width: saving.width, shown };
  const picture = () => makePicture({ figure: data.figure, ...how });
  if (ending === "svg") return (await picture()).svg;
  if (ending === "png") return toPng(await picture());
  if (ending === "html") return makePage(data);
  const files = Object.entries(saving.files).map(([name, text]) => /** @type {const} */ ([name, fromBase64(text)]));
  if (ending !== "zip") return files.find(([name]) => name.endsWith(`.${ending}`))?.[1];
  const drawn = await picture();
  const bytes = (text) => new TextEncoder().encode(text);
  return zip([
    [`${data.name}.svg`, bytes(drawn.svg)],
    [`${data.name}.png`, await toPng(drawn)],
    [`${data.name}.html`, bytes(await makePage(data))],
    ...files,
  ]);
}

function fromBase64(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function download(name, content, type) {
  const link = element("a", "");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
