// Rotary positions: a dial for each pair of numbers, with the query's hand and the key's, turned by their positions.
//
// data: {speeds} in radians a position; {query, key}: [[a, b], ...] before they are turned; {rest, scale} of their
// product; {places}: [query, key], shared; {n} positions; {names, hues} of query and key.

import { fixed, significant, thousands } from "../../../../../headlight/components/kit/numbers.js";
import { announce } from "../../../../../headlight/components/kit/announce.js";
import { element, svg } from "../../../../../headlight/components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { inLine, rove } from "../../../../../headlight/components/kit/roving.js";
import { SharedValue } from "../../../../../headlight/components/kit/shared_value.js";
import { say } from "../../../../../headlight/components/kit/say.js";

const SIZE = 84; // px, of a dial
const RADIUS = 34;
const PITCH = 100; // px, from one dial to the next, at least
const PACE = 5; // positions a second
const WHICH = [0, 1]; // the query, the key

export default await mount(import.meta.url, {
  styles: ["./dials.css"],
  make: makeView,
  update,
});

function update(view, data, send) {
  view.send = send;
  view.tell = () => {
    view.shared.tell(view.places.map(Math.round));
    announce(view.sum.textContent);
  };
  const isSame = view.data && JSON.stringify({ ...view.data, places: 0 }) === JSON.stringify({ ...data, places: 0 });
  view.data = data;
  if (!isSame) build(view);
  if (view.shared.hear(data.places)) {
    stop(view);
    view.places = [...data.places.value];
  }
  show(view);
}

function makeView(root) {
  /** @type {any} */
  const view = { root, places: [0, 0], dials: [] };
  for (const name of ["bar", "grid", "sum"]) view[name] = element("div", name);
  view.roving = rove(view.grid, { of: ".dial", next: (key, figure, event) => next(view, key, figure, event) });
  root.append(view.bar, view.sum, view.grid);
  new ResizeObserver(() => arrange(view)).observe(view.grid);
  root.setAttribute("role", "group");
  return view;
}

function build(view) {
  view.shared = new SharedValue((message) => view.send("places", message));
  const { data, bar, grid, root } = view;
  root.setAttribute("aria-label", say("Rotary angles"));
  view.play = element("button", "play");
  view.play.type = "button";
  view.play.addEventListener("click", () => (view.frame ? pause(view) : start(view)));
  view.sliders = WHICH.map((which) => makeSlider(view, which));
  bar.replaceChildren(view.play, ...view.sliders.map(({ label }) => label));
  const longest = Math.max(...[...data.query, ...data.key].map(([a, b]) => Math.hypot(a, b)), 1e-12);
  view.dials = data.speeds.map((speed, pair) => makeDial(view, pair, speed, longest));
  grid.replaceChildren(...view.dials.map(({ figure }) => figure));
  view.roving.rest(grid.firstElementChild);
  arrange(view);
  view.most = Math.max(...view.dials.map((_, pair) => data.scale * lengthOf(data.query[pair]) * lengthOf(data.key[pair])), 1e-12);
}

function arrange({ grid, dials }) {
  // Rows of equally many dials, as far as there is room.
  const inRow = Math.max(1, Math.floor(grid.clientWidth / PITCH));
  const nRows = Math.max(1, Math.ceil(dials.length / inRow));
  grid.style.gridTemplateColumns = `repeat(${Math.ceil(dials.length / nRows)}, minmax(0, 1fr))`;
}

function lengthOf([a, b]) {
  return Math.hypot(a, b);
}

function makeSlider(view, which) {
  const { names, hues, n } = view.data;
  const label = element("label", "slider");
  const input = element("input", "range");
  Object.assign(input, { type: "range", min: 0, max: n - 1, step: 1 });
  const number = element("output", "number");
  label.style.setProperty("--hue", hues[which]);
  label.append(element("span", "name", names[which]), input, number);
  input.addEventListener("input", () => {
    pause(view, false);
    view.shared.touch();
    view.places[which] = Number(input.value);
    show(view);
  });
  input.addEventListener("change", () => view.tell());
  return { label, input, number };
}

function makeDial(view, pair, speed, longest) {
  const figure = element("div", "dial");
  Object.assign(figure, { role: "slider", tabIndex: -1, ariaLabel: say("Pair {pair}", { pair }), ariaValueMin: 0 });
  figure.ariaValueMax = view.data.n - 1;
  figure.ariaDescription = say("Up and down arrows move the query, with Shift the key; left and right arrows lead to other pairs.");
  const face = svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, width: SIZE, height: SIZE, "aria-hidden": "true" });
  const middle = SIZE / 2;
  face.append(svg("circle", { cx: middle, cy: middle, r: RADIUS, class: "face" }));
  const between = svg("path", { class: "between" });
  const hands = WHICH.map((which) => {
    const vector = view.data[which ? "key" : "query"][pair];
    const length = RADIUS * Math.max(lengthOf(vector) / longest, 0.06);
    const hand = svg("line", { x1: middle, y1: middle, class: which ? "hand key" : "hand query" });
    hand.style.stroke = view.data.hues[which];
    return { hand, length, at: Math.atan2(vector[1], vector[0]) };
  });
  face.append(between, ...hands.map(({ hand }) => hand), svg("circle", { cx: middle, cy: middle, r: 2, class: "pin" }));
  const words = element("div", "words");
  const number = element("span", "part");
  const bar = element("span", "share");
  const wave = (2 * Math.PI) / speed;
  const length = thousands(wave, wave < 100 ? 1 : 0);
  words.append(element("span", "wave", `${pair}: λ ${length}`), number, bar);
  figure.append(face, words);
  figure.title = say("Pair {pair} rotates by {speed} radians per position; drag a hand to move", {
    pair,
    speed: significant(speed, 3),
  });
  const dial = { figure, face, between, hands, number, bar, speed };
  dragging(view, dial);
  return dial;
}

function dragging(view, dial) {
  // A hand that is dragged round takes its position along: as many as that angle needs.
  const { face, hands, speed } = dial;
  /** @type {{which: number, last: number, pointerId: number} | null} */
  let held = null;
  const angleOf = ({ clientX, clientY }) => {
    const { left, top, width, height } = face.getBoundingClientRect();
    return Math.atan2(top + height / 2 - clientY, clientX - left - width / 2);
  };
  const turns = ({ pointerId }) => held?.pointerId === pointerId; // another finger does not
  face.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || (held && !turns(event))) return;
    pause(view, false);
    view.shared.touch();
    const angle = angleOf(event);
    const away = hands.map(({ at }, which) => Math.abs(wrap(angle - at - view.places[which] * speed)));
    held = { which: away[0] <= away[1] ? 0 : 1, last: angle, pointerId: event.pointerId };
    face.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  face.addEventListener("pointermove", (event) => {
    if (!held || !turns(event)) return;
    const angle = angleOf(event);
    view.places[held.which] = inside(view, view.places[held.which] + wrap(angle - held.last) / speed);
    held.last = angle;
    show(view);
  });
  const release = (event) => {
    if (!turns(event)) return;
    held = null;
    settle(view);
  };
  face.addEventListener("pointerup", release);
  face.addEventListener("pointercancel", release);
}

function next(view, key, figure, { shiftKey }) {
  // Up and down turn a hand by one position, as dragging it does; the others lead to other dials.
  const by = { ArrowUp: 1, ArrowDown: -1 }[key];
  if (!by) return inLine(key, figure, view.dials.map((dial) => dial.figure));
  pause(view, false);
  const which = shiftKey ? 1 : 0;
  view.places[which] = inside(view, Math.round(view.places[which]) + by);
  settle(view);
  return figure;
}

function wrap(angle) {
  return Math.atan2(Math.sin(angle), Math.cos(angle));
}

function inside({ data }, place) {
  return Math.min(Math.max(place, 0), data.n - 1);
}

function start(view) {
  // Query and key move on together, so their distance stays; from the end they begin again.
  const moving = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const step = (places) => {
    const most = Math.max(...view.places) + places;
    const back = most > view.data.n - 1 ? -Math.min(...view.places) : places;
    view.places = view.places.map((place) => place + back);
    show(view);
  };
  if (moving) return (step(1), settle(view));
  let last = performance.now();
  const tick = (now) => {
    if (!view.root.isConnected) return stop(view);
    step(((now - last) / 1000) * PACE);
    last = now;
    view.frame = requestAnimationFrame(tick);
  };
  view.frame = requestAnimationFrame(tick);
  view.shared.touch();
  show(view);
}

function stop(view) {
  cancelAnimationFrame(view.frame);
  view.frame = 0;
}

function pause(view, tells = true) {
  if (!view.frame) return;
  stop(view);
  if (tells) settle(view);
  else show(view);
}

function settle(view) {
  view.places = view.places.map(Math.round);
  show(view);
  view.tell();
}

function show(view) {
  const { data, dials, places, sliders } = view;
  let sum = data.rest;
  const [query, key] = places.map(Math.round);
  dials.forEach(({ figure, between, hands, number, bar, speed }, pair) => {
    const angles = hands.map(({ at }, which) => at + places[which] * speed);
    hands.forEach(({ hand, length }, which) => {
      hand.setAttribute("x2", SIZE / 2 + length * Math.cos(angles[which]));
      hand.setAttribute("y2", SIZE / 2 - length * Math.sin(angles[which]));
    });
    between.setAttribute("d", wedge(...angles));
    const product = data.scale * lengthOf(data.query[pair]) * lengthOf(data.key[pair]) * Math.cos(angles[0] - angles[1]);
    sum += product;
    number.textContent = fixed(product, 3);
    figure.ariaValueNow = query;
    figure.ariaValueText = say("query at {query}, key at {key}: product {product}", { query, key, product: number.textContent });
    bar.style.setProperty("--size", `${(50 * Math.abs(product)) / view.most}%`);
    bar.classList.toggle("less", product < 0);
  });
  sliders.forEach(({ input, number }, which) => {
    input.value = String(Math.round(places[which]));
    input.style.setProperty("--filled", `${(100 * places[which]) / Math.max(data.n - 1, 1)}%`);
    number.textContent = Math.round(places[which]);
  });
  view.play.textContent = view.frame ? say("Pause") : say("Play");
  view.play.setAttribute("aria-pressed", String(Boolean(view.frame)));
  view.play.disabled = !view.frame && Math.abs(places[0] - places[1]) >= data.n - 1; // no room to move on
  view.sum.textContent = say("distance {distance}: the product of query and key is {product}", {
    distance: fixed(query - key, 0),
    product: fixed(sum, 4),
  });
}

function wedge(from, to) {
  // The angle between both hands, as a slice near the middle.
  const turn = wrap(to - from);
  const radius = RADIUS * 0.42;
  const at = (angle) => `${SIZE / 2 + radius * Math.cos(angle)} ${SIZE / 2 - radius * Math.sin(angle)}`;
  return `M ${SIZE / 2} ${SIZE / 2} L ${at(from)} A ${radius} ${radius} 0 0 ${turn > 0 ? 0 : 1} ${at(from + turn)} Z`;
}
