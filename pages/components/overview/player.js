// The player of a film of heads: a slider over its snapshots, a button that plays it, and lines above the slider.
//
// The pictures of all snapshots come once, through the component in film.js; what is chosen comes with the overview.

import { fixed, thousands } from "../../../headlight/components/kit/numbers.js";
import { element, svg } from "../../../headlight/components/kit/elements.js";
import { film } from "../../../headlight/components/kit/channel.js";
import { leaving } from "../kit/mount.js";
import { SharedValue } from "../../../headlight/components/kit/shared_value.js";
import { say } from "../../../headlight/components/kit/say.js";

const WHOLE = 7000; // ms, that a film takes to play, within limits for one picture
const SHORTEN = [50, 400]; // ms a picture
const SETTLED = 160; // ms, after which a snapshot counts as chosen
const N_KEPT = 2; // films: of the page, and of the one before

const films = new Map(); // by their ids

export function keepFilm(id, pictures) {
  films.delete(id);
  films.set(id, pictures);
  while (films.size > N_KEPT) films.delete(films.keys().next().value);
  film.send(id);
}

export function makePlayer({ root, onFrame, onChosen }) {
  // onFrame(film, place): show a snapshot; onChosen({revision, value}): a person chose a step.
  /** @type {any} */
  const player = { place: 0, film: null, onFrame, onChosen };
  player.bar = element("div", "player");
  player.bar.setAttribute("role", "group");
  player.bar.setAttribute("aria-label", say("Snapshots of this training"));
  player.button = element("button", "play");
  player.button.type = "button";
  player.button.append(element("span", "symbol"));
  player.track = element("div", "track");
  player.lines = svg("svg", { class: "lines", preserveAspectRatio: "none", "aria-hidden": "true" });
  player.marks = element("div", "marks");
  player.slider = element("input", "slider");
  Object.assign(player.slider, { type: "range", min: 0, max: 0, step: 1 });
  player.slider.setAttribute("aria-label", say("Snapshot of the training"));
  player.label = element("div", "snapshot");
  player.track.append(player.lines, player.marks, player.slider);
  player.bar.append(player.button, player.track, player.label);
  const place = element("div", "film");
  place.append(player.bar);
  root.before(place);
  player.button.addEventListener("click", () => (player.timer ? pause(player) : play(player)));
  player.slider.addEventListener("input", () => {
    stopTimer(player);
    player.step.touch();
    seek(player, Number(player.slider.value));
  });
  player.slider.addEventListener("change", () => settle(player));
  player.bar.addEventListener("keydown", (event) => {
    if (event.key !== " " || event.target === player.button) return;
    event.preventDefault();
    player.button.click();
  });
  const signal = leaving(root);
  film.listen((id) => id === player.header?.id && openFilm(player), signal);
  player.words = document.head.appendChild(document.createElement("style"));
  signal.addEventListener("abort", () => player.words.remove());
  showPlaying(player);
  return player;
}

export function updatePlayer(player, header) {
  // A new film begins at its chosen snapshot.
  const isNew = header.id !== player.header?.id;
  player.header = header;
  if (isNew) {
    Object.assign(player, { film: null, step: new SharedValue(player.onChosen) });
    drawTrack(player);
  }
  if (!player.step.hear(header.step)) return;
  stopTimer(player);
  seek(player, header.steps.indexOf(header.step.value));
  if (!isNew) showAgain(player);
  else if (films.has(header.id)) openFilm(player);
}

function openFilm(player) {
  player.film = films.get(player.header.id);
  showAgain(player);
}

export function showAgain(player) {
  if (player.film) player.onFrame(player.film, player.place, true);
}

function drawTrack(player) {
  const { header, lines, marks, slider, bar } = player;
  const last = header.steps.length - 1;
  bar.style.setProperty("--mark", header.color);
  slider.max = last;
  lines.setAttribute("viewBox", `0 0 ${Math.max(last, 1)} 1`);
  player.cursor = svg("line", { class: "cursor", y1: 0, y2: 1 });
  lines.replaceChildren(
    ...header.lines.map(({ values, ends: [lowest, highest] }, number) => {
      const height = (value) => 1 - (value - lowest) / (highest - lowest || 1);
      const points = values.map((value, place) => `${place},${height(value)}`).join(" ");
      return svg("polyline", { class: `line-${number}`, points });
    }),
    player.cursor,
  );
  marks.replaceChildren();
  for (const { place, words } of header.marks) {
    const mark = element("button", "mark");
    Object.assign(mark, { type: "button", title: words, tabIndex: -1 });
    mark.setAttribute("aria-hidden", "true"); // the page lists the same
    mark.style.left = `${(100 * place) / Math.max(last, 1)}%`;
    mark.addEventListener("click", () => {
      stopTimer(player);
      player.step.touch();
      seek(player, place);
      settle(player);
    });
    marks.append(mark);
  }
}

function seek(player, place) {
  player.place = place;
  const { steps, lines } = player.header;
  const step = say("step {step}", { step: thousands(steps[place]) });
  const text = lines.map(({ name, values }) => `${name} ${inWords(values[place])}`);
  player.words.textContent = `.hl-of-snapshot:not([data-step="${steps[place]}"]) { visibility: hidden; }`; // late ones
  player.slider.value = place;
  player.slider.setAttribute("aria-valuetext", [step, ...text].join(", "));
  player.slider.style.setProperty("--share", place / Math.max(steps.length - 1, 1));
  player.cursor.setAttribute("x1", place);
  player.cursor.setAttribute("x2", place);
  player.label.replaceChildren(
    element("strong", "", step),
    ...text.map((words, number) => element("span", `line-${number}`, words)),
  );
  if (player.film) player.onFrame(player.film, place, false);
}

function inWords(value) {
  return value > 0.005 || value === 0 ? fixed(value, 2) : say("below 0.01");
}

function settle(player) {
  // Tells the page, and names the heads again, once the snapshot has stood still for a while.
  clearTimeout(player.waiting);
  player.waiting = setTimeout(() => {
    if (player.timer || !player.bar.isConnected) return;
    showAgain(player);
    if (player.step.isTouched) player.step.tell(player.header.steps[player.place]);
  }, SETTLED);
}

function play(player) {
  if (!player.film) return;
  player.step.touch();
  const last = player.header.steps.length - 1;
  if (player.place === last) seek(player, 0);
  const [shortest, longest] = SHORTEN;
  const each = Math.min(longest, Math.max(shortest, WHOLE / (last + 1)));
  player.timer = setInterval(() => {
    if (!player.bar.isConnected) return stopTimer(player);
    seek(player, player.place + 1);
    if (player.place >= last) pause(player);
  }, each);
  showPlaying(player);
}

function pause(player) {
  stopTimer(player);
  settle(player);
}

function stopTimer(player) {
  clearInterval(player.timer);
  clearTimeout(player.waiting);
  player.timer = null;
  showPlaying(player);
}

function showPlaying({ button, timer }) {
  button.setAttribute("aria-label", timer ? say("Pause") : say("Play"));
  button.title = timer ? say("Pause (space)") : say("Play the snapshots (space)");
  button.classList.toggle("playing", Boolean(timer));
}
