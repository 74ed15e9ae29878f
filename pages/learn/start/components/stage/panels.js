// The lanes of the stage: tokens, panels and blocks as elements, and their values as pictures.

import { brushOf } from "../../../../../headlight/components/kit/canvas.js";
import { element } from "../../../../../headlight/components/kit/elements.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { leastText } from "../../../../../headlight/components/kit/theme.js";
import { makePalette, pictureOf } from "../../../steps/components/steps/colors.js";
import { drawFlows } from "./flows.js";
import { drawFollowed } from "./follow.js";
import { BAND, fitted, tokensWidth } from "./layout.js";
import { nextToken } from "./prediction.js";
import { drawStream, jointOf } from "./residual.js";
import { isStill } from "./travel.js";

export function makeLanes(view) {
  // Draws all lanes again, for other data or another size; pictures are painted by `repaint`.
  const { header, lanes: box } = view;
  const counts = Object.fromEntries(Object.entries(header.sides).map(([side, { labels }]) => [side, labels.length]));
  const scrolled = view.laidOut === header.zoom.value ? [...box.querySelectorAll(".strip")].map(({ scrollLeft }) => scrollLeft) : [];
  Object.assign(view, { pictures: [], strips: [], laidOut: header.zoom.value });
  const room = roomOf(view);
  const nodes = header.lanes.map((lane) => {
    const section = element("section", "lane");
    section.dataset.stack = lane.stack;
    section.setAttribute("aria-label", lane.title);
    if (header.lanes.length > 1) section.append(element("h3", "stack", lane.title));
    const { row, sizes, isNarrow } = fitted(lane, { ...room, level: header.level, counts, leastText: leastText(view.root) });
    const strip = element("div", "strip");
    strip.style.setProperty("--row", `${row}px`);
    strip.style.setProperty("--tokens", `${tokensWidth(isNarrow)}px`);
    strip.style.setProperty("--band", `${header.level === "attention" ? 0 : BAND}px`);
    strip.classList.toggle("narrow", isNarrow);
    fillStrip(view, strip, lane, sizes);
    section.append(strip, ...moreOf(strip));
    return section;
  });
  box.replaceChildren(...nodes);
  header.lanes.forEach((lane, i) => {
    const strip = nodes[i].querySelector(".strip");
    drawStream(strip, lane, header);
    strip.scrollLeft = scrolled[i] ?? 0;
    strip.showMore();
  });
  drawFlows(view);
}

function roomOf(view) {
  const { header, root } = view;
  const n = header.lanes.length;
  const isBelow = header.level === "overview" && view.lanes.clientWidth > 0.9 * root.clientWidth; // the prediction
  const height = Math.min(Math.max(window.innerHeight - (isBelow ? 430 : 330), 280), 620) / n - 46 - (header.level === "attention" ? 0 : BAND);
  return { width: view.lanes.clientWidth || root.clientWidth || 800, height };
}

function moreOf(strip) {
  // A lane that is wider than its room is scrolled: buttons at its edges show on which side there is more.
  const marks = [element("button", "more before"), element("button", "more after")];
  marks.forEach((mark, i) => {
    mark.type = "button";
    mark.setAttribute("aria-label", i ? say("Scroll right") : say("Scroll left"));
    mark.addEventListener("click", () => strip.scrollBy({ left: (i ? 0.7 : -0.7) * strip.clientWidth, behavior: isStill() ? "auto" : "smooth" }));
  });
  strip.showMore = () => {
    const isThere = [strip.scrollLeft >= 2, strip.scrollWidth - strip.clientWidth - strip.scrollLeft >= 2];
    marks.forEach((mark, i) => {
      const hadFocus = !isThere[i] && mark.matches(":focus");
      mark.hidden = !isThere[i];
      if (hadFocus) marks[1 - i].focus();
    });
  };
  strip.addEventListener("scroll", strip.showMore);
  return marks;
}

function fillStrip(view, strip, lane, sizes) {
  let side = "";
  /** @type {any} */
  let group = null;
  strip.classList.toggle("grouped", lane.panels.some((panel) => panel.group));
  lane.panels.forEach((panel, i) => {
    const isGrid = panel.shape === "heads" && sizes[i].columns < panel.nHeads; // of maps: no row of it is a token's
    if (panel.rows !== side && !isGrid) {
      side = panel.rows;
      const tokens = tokensOf(view, side);
      tokens.classList.toggle("pinned", i === 0);
      strip.append(tokens);
      view.strips.push({ strip, tokens, side });
    }
    if (panel.group && panel.group !== group?.dataset.group) {
      group = groupOf(lane.groups[panel.group]);
      group.dataset.group = panel.group;
      strip.append(group);
    }
    const figure = panelOf(view, panel, sizes[i]);
    figure.dataset.joint = jointOf(lane.panels, i, view.header.level);
    (panel.group ? group.lastChild : strip).append(figure);
  });
}

function tokensOf(view, side) {
  const { sides, generating, lessProbable, nGiven } = view.header;
  const { labels, ids } = sides[side];
  const list = element("ol", "tokens");
  list.setAttribute("aria-label", say("Tokens and their ids"));
  labels.forEach((label, i) => {
    const item = element("li", "token");
    item.tabIndex = -1;
    item.dataset.row = String(i);
    const name = element("bdi", "label", label);
    const of = { i, label, id: ids[i] };
    const isLess = side === generating && lessProbable.includes(i - nGiven);
    item.classList.toggle("less-probable", isLess);
    item.title = isLess ? say("token {i}: “{label}”, id {id}, not the most probable one", of) : say("token {i}: “{label}”, id {id}", of);
    item.append(name, element("span", "id", String(ids[i])));
    list.append(item);
  });
  return list;
}

function groupOf({ short, title, zoom }) {
  const group = element("div", "group");
  const open = element("button", "open block-title", short);
  Object.assign(open, { type: "button", tabIndex: -1 });
  open.dataset.zoom = zoom;
  open.setAttribute("aria-label", say("Zoom in: {title}", { title }));
  group.append(open, element("div", "inside"));
  return group;
}

function panelOf(view, panel, size) {
  const figure = element("figure", `panel ${panel.shape.replace(" ", "-")}`);
  figure.style.width = `${size.width}px`;
  if (panel.columns && panel.columns !== panel.rows) figure.dataset.reads = "memory";
  const isOverview = view.header.level === "overview";
  const caption = element("figcaption", "caption", panel.title);
  caption.title = `${panel.title}: ${panel.site} [${panel.size.join(" × ")}]`;
  figure.append(caption);
  if (panel.shape !== "heads") {
    figure.append(pictureIn(view, panel, null, size.width, size.height));
    return figure;
  }
  const maps = element("div", "maps");
  maps.style.height = `${size.height}px`;
  maps.style.gridTemplateColumns = `repeat(${size.columns}, ${size.mapWidth}px)`;
  for (let head = 0; head < panel.size[0]; head += 1) {
    const canvas = pictureIn(view, panel, head, size.mapWidth, size.mapHeight);
    const zoom = isOverview ? panel.group : view.header.level === "block" ? panel.opens : `${panel.opens}.${head}`;
    const name = say("{title}, head {head}", { title: panel.title, head });
    const button = element("button", "open map");
    Object.assign(button, { type: "button", tabIndex: -1 });
    Object.assign(button.dataset, { zoom, head: `${panel.opens}.${head}` });
    button.setAttribute("aria-label", say("Zoom in: {title}", { title: name }));
    button.append(canvas);
    if (!isOverview) {
      button.append(element("span", "head", `H${head}`));
      if (button.dataset.head === view.chosenHead) button.setAttribute("aria-current", "true");
    }
    maps.append(button);
  }
  figure.append(maps);
  return figure;
}

function pictureIn(view, panel, head, width, height) {
  const canvas = element("canvas", "picture");
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const [rows, columns] = panel.size.slice(-2);
  const start = (head ?? 0) * rows * columns;
  panel.parts ??= []; // the same arrays whenever the lanes are laid out: their pictures are kept by them
  const values = (panel.parts[head ?? 0] ??= panel.values.subarray(start, start + rows * columns));
  const quantity = { name: panel.site, hue: panel.hue, most: panel.most, n: rows, width: columns, values };
  const picture = { canvas, panel, head, quantity, width, height, rows, columns };
  canvas.picture = picture;
  view.pictures.push(picture);
  return canvas;
}

/** How many tokens of a side are there at the step that is shown. */
export function nShown(view, side) {
  const { header } = view;
  const all = header.sides[side].labels.length;
  return side === header.generating && !header.isFilling ? Math.min(all, header.nGiven + view.at) : all;
}

export function repaint(view) {
  const { header } = view;
  const theme = view.theme();
  if (view.palette?.theme !== theme) view.palette = makePalette(header, theme);
  for (const picture of view.pictures) paint(view, picture);
  const current = header.rows[header.isFilling ? 0 : view.at];
  for (const { tokens, side } of view.strips) {
    const n = nShown(view, side);
    const isGenerating = side === header.generating && !header.isFilling;
    const hasNext = nextToken(view) === header.sides[side].ids[n];
    for (const item of tokens.children) {
      const row = Number(item.dataset.row);
      const isNext = isGenerating && row === n && hasNext;
      item.classList.toggle("later", row >= n && !isNext);
      item.classList.toggle("next", isNext);
      item.classList.toggle("current", side === header.generating && row === current);
      item.classList.toggle("generated", isGenerating && row >= header.nGiven);
      item.classList.toggle("pointed", [view.pointed, view.pointed?.key].some((one) => one?.side === side && one.row === row));
    }
  }
  view.drawLines?.();
  drawFollowed(view, nShown);
}

function paint(view, picture) {
  const { canvas, panel, quantity, width, height, rows, columns } = picture;
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  const brush = brushOf(canvas);
  brush.clearRect(0, 0, w, h);
  const shown = nShown(view, panel.rows);
  const keys = panel.columns ? nShown(view, panel.columns) : columns;
  brush.imageSmoothingEnabled = columns > w;
  const image = pictureOf(view.palette, quantity, false);
  brush.drawImage(image, 0, 0, keys, shown, 0, 0, (w * keys) / columns, (h * shown) / rows);
  if (panel.shape === "head vectors") divide(view, panel, brush, w, h);
  const { border } = view.header.sides[panel.rows] ?? {};
  if (border && border < shown) part(view, brush, (border * h) / rows, w);
  const current = view.header.rows[view.header.isFilling ? 0 : view.at];
  if (panel.rows === view.header.generating && current !== undefined) frame(view, brush, current, picture, 1.5);
  if (view.pointed?.side === panel.rows) frame(view, brush, view.pointed.row, picture, 1);
  if (panel.columns && view.pointed?.key?.side === panel.columns) underline(view, brush, view.pointed.key.row, picture);
}

function underline({ palette }, brush, column, { columns, width, height }) {
  // Marks a key at both ends of its column.
  const ratio = window.devicePixelRatio || 1;
  const step = (width * ratio) / columns;
  brush.fillStyle = palette.accent;
  for (const y of [0, (height - 2) * ratio]) brush.fillRect(column * step, y, Math.max(step, ratio), 2 * ratio);
}

function divide({ palette }, { nHeads }, brush, width, height) {
  // A line between the parts of the heads.
  brush.fillStyle = palette.background;
  const line = Math.max(1, Math.round(window.devicePixelRatio || 1));
  for (let head = 1; head < nHeads; head += 1) brush.fillRect(Math.round((head * width) / nHeads), 0, line, height);
}

function part({ palette }, brush, y, width) {
  // A line between two texts.
  const line = Math.max(1, Math.round(window.devicePixelRatio || 1));
  brush.fillStyle = palette.text;
  brush.fillRect(0, Math.round(y - line / 2), width, line);
}

function frame({ palette }, brush, row, { rows, width, height }, thickness) {
  const ratio = window.devicePixelRatio || 1;
  brush.strokeStyle = palette.accent;
  brush.lineWidth = thickness * ratio;
  const inset = (thickness * ratio) / 2;
  const step = (height * ratio) / rows;
  brush.strokeRect(inset, row * step + inset, width * ratio - 2 * inset, Math.max(step - 2 * inset, ratio));
}
