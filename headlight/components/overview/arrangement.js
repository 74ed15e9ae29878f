// Where each head stands in the overview: a row a layer, or, ordered by a measure, one list that fills rows.

import { element } from "../kit/elements.js";
import { say } from "../kit/say.js";
import { paint } from "./thumbnails.js";

const ROW_LABEL = 8 * say("layer {layer}", { layer: 10 }).length - 8; // px, for this and what surrounds the grid
const EDGE = 18; // px, for what surrounds a grid without such labels
export const LEGEND = 24; // px, for the line that explains the bars, as in overview.css
const TITLE = 28; // px, for a group's title
export const HEADER = TITLE + 18; // px, with the line of "head 0" below it
const NUMBER = 18; // px, for the number of a head
const CAPTION = 18; // px, for a head's own name above the picture
export const BAR = 9; // px, for the bar below a picture with its number, and the space between them
const APART = 3; // px, more between rows where pictures have something above or below them that belongs to them
const OBLONG = 1.35; // how much longer one side of a picture may be, where there is room
const GAIN = 1.15; // how much larger pictures must become for the heads of a layer to take several lines
const SMALLEST = 10; // px, the side of a picture
const SMALLEST_ABOVE_BAR = 22; // px, the height of a picture that is told from its bar; more than fit are scrolled
const LOWEST = 34; // px, the height of a picture where groups share the room, and in a list
const NAMED = 48; // px, the width of a picture that has its name above it, "L11.H10"

export function arrange(view) {
  const focused = view.heads.find(({ button }) => button.matches(":focus"));
  Object.assign(view, { rows: [], grids: [] });
  view.groups.replaceChildren(...drawnGroups(view.header).map((group) => sectionOf(view, group)));
  focused?.button.focus({ preventScroll: true });
  fit(view);
}

export function drawnGroups({ groups, only }) {
  return only ? groups.filter(({ attention }) => only.includes(attention)) : groups;
}

export function headsInOrder({ heads, header }, group) {
  const items = heads.filter(({ attention }) => attention === group.attention);
  if (!header.order) return items;
  const sign = header.order === "ascending" ? 1 : -1;
  const rank = ({ value }) => (value === null ? Infinity : sign * value);
  return items.sort((one, other) => rank(one) - rank(other) || 0); // equal ones keep the order of layers
}

function sectionOf(view, group) {
  const section = element("section", "group");
  section.setAttribute("aria-label", group.title);
  section.append(element("h2", "title", group.title));
  const columns = columnsOf(view, group);
  const { isList, lines, hasNames } = shapeOf(view, group, columns);
  const grid = element("div", "grid");
  if (!hasNames) {
    grid.append(element("span", "corner"));
    for (let head = 0; head < group.heads; head++) grid.append(element("span", "column"));
  }
  headsInOrder(view, group).forEach((item, place) => {
    if (!isList && item.head === 0) {
      const label = element("span", "row", say("layer {layer}", { layer: item.numbers.layer }));
      label.style.gridRow = `span ${lines / group.layers}`;
      grid.append(label);
    }
    if (place % columns === 0) view.rows.push([]);
    view.rows.at(-1).push(item);
    const cell = element("div", "cell");
    if (hasNames) cell.append(element("span", "column", isList ? `L${item.numbers.layer}.H${item.numbers.head}` : ""));
    cell.append(item.button);
    if (view.header.measure) cell.append(item.gauge);
    grid.append(cell);
  });
  section.append(grid);
  view.grids.push({ group, grid, columns });
  return section;
}

function shapeOf({ header }, group, columns) {
  // Of a grid with this many heads side by side: its lines, and whether each head has its name above it.
  const isList = Boolean(header.order);
  const { layers, heads } = group;
  const lines = isList ? Math.ceil((layers * heads) / columns) : layers * Math.ceil(heads / columns);
  return { isList, lines, hasNames: isList || columns < group.heads };
}

function columnsOf(view, group) {
  // How many heads stand side by side: all of a layer where they fit, in every model; where they would be too small, and
  // one group has the room to itself, as many as win much. In a list, as many as let the pictures be large.
  if (!view.root.offsetWidth) return group.heads;
  const isAlone = drawnGroups(view.header).length === 1;
  const side = (columns) => Math.min(...sizeOf(view, group, columns));
  const largest = (numbers) => numbers.reduce((one, other) => (side(other) >= side(one) ? other : one));
  const upTo = (n) => Array.from({ length: Math.max(n, 1) }, (_, i) => i + 1);
  if (view.header.order) {
    const most = Math.floor((view.root.offsetWidth - EDGE) / (NAMED + gapOf(group)));
    if (!isAlone) return Math.max(1, Math.min(group.heads, most));
    return largest(upTo(Math.min(group.layers * group.heads, most)));
  }
  if (!isAlone || side(group.heads) >= NAMED) return group.heads;
  const best = largest(upTo(group.heads).filter((n) => group.heads % n === 0));
  return side(best) > GAIN * side(group.heads) ? best : group.heads;
}

function sizeOf(view, group, columns) {
  // The width and height, px, that the room leaves for each picture.
  const gap = gapOf(group);
  const { isList, lines, hasNames } = shapeOf(view, group, columns);
  const between = rowGapOf(view, group, hasNames) + besides(view, hasNames);
  const legend = view.header.measure ? LEGEND : 0;
  const width = (view.root.offsetWidth - (isList ? EDGE : ROW_LABEL) - gap * columns) / columns;
  const height = (view.root.offsetHeight - legend - (hasNames ? TITLE : HEADER)) / lines - between;
  const lowest = isList ? LOWEST : view.header.measure ? SMALLEST_ABOVE_BAR : SMALLEST;
  return [Math.max(SMALLEST, Math.floor(width)), Math.max(lowest, Math.floor(height))];
}

function besides({ header }, hasNames) {
  // px of a cell's height that are not its picture.
  return (hasNames ? CAPTION : 0) + (header.measure ? BAR : 0);
}

function rowGapOf(view, group, hasNames) {
  return gapOf(group) + (besides(view, hasNames) ? APART : 0);
}

function gapOf(group) {
  return group.heads > 24 ? 2 : group.heads > 8 ? 3 : 6;
}

export function fit(view) {
  // Sets the sizes again after the window changed, and paints.
  const { root, header } = view;
  if (!header || !root.offsetWidth) return;
  if (view.grids.some(({ group, columns }) => columnsOf(view, group) !== columns)) return arrange(view);
  for (const { group, grid, columns } of view.grids) {
    const { isList, hasNames } = shapeOf(view, group, columns);
    const more = besides(view, hasNames);
    const labels = isList ? "" : view.grids.length === 1 ? "max-content " : "auto ";
    let [width, height] = sizeOf(view, group, columns);
    grid.style.gap = `${rowGapOf(view, group, hasNames)}px ${gapOf(group)}px`;
    grid.style.gridTemplateRows = hasNames ? "none" : `${NUMBER}px`;
    if (view.grids.length === 1) {
      width = Math.min(width, height * OBLONG);
      height = Math.min(Math.max(height, width / OBLONG), width * OBLONG);
      grid.style.gridTemplateColumns = `${labels}repeat(${columns}, ${width}px)`;
      grid.style.gridAutoRows = `${height + more}px`;
    } else {
      grid.style.gridTemplateColumns = `${labels}repeat(${columns}, minmax(${SMALLEST}px, 1fr))`;
      grid.style.gridAutoRows = `minmax(${LOWEST + more}px, 1fr)`;
    }
    if (isList) continue;
    const isNarrow = width < 42; // px: "head 10" would not fit
    const step = hasNames ? 1 : Math.ceil(NUMBER / width);
    if (!hasNames) grid.querySelector(".corner").textContent = isNarrow ? say("head") : "";
    grid.querySelectorAll(".column").forEach((label, place) => {
      const column = place % group.heads;
      const head = group.headNumbers?.[column] ?? column;
      label.textContent = !isNarrow ? say("head {head}", { head }) : column % step === 0 ? head : "";
      label.classList.toggle("wide", step > 1);
    });
  }
  paint(view);
}
