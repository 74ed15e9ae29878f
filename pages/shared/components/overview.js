// All heads at once: one canvas under a grid of buttons, one button a head.
//
// data: a header's length (uint32, little endian), the header (JSON), then one byte a cell of every pattern:
// 0 to 254 for weights from 0 to 1, 255 where the mask does not allow the cell. Where the header has a film, the bytes
// of all its moments come through film.js, and player.js draws what chooses among them.

const FORBIDDEN = 255;
const CORNER = 4; // px, as in overview.css
const ROW_LABEL = 56; // px, for "layer 10" and what surrounds the grid
const TITLE = 28; // px, for a group's title
const HEADER = TITLE + 18; // px, with the line of "head 0" below it
const NUMBER = 18; // px, for the number of a head
const CAPTION = 18; // px, for a head's own name, where the heads of a layer take several lines
const OBLONG = 1.35; // how much longer one side of a picture may be, where there is room
const GAIN = 1.15; // how much larger pictures must become for the heads of a layer to take several lines
const SMALLEST = 10; // px, the side of a picture
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".overview");
  const view = (root.view ??= makeView(root));
  view.send = (head) => setTriggerValue("chosen", head);
  view.sendMoment = (step) => setTriggerValue("moment", { step });
  const { header, rest: levels } = unpack(data);
  if (header.version !== view.header?.version) {
    const isSame = hasSameHeads(view.header, header);
    Object.assign(view, { header, levels });
    if (isSame) refill(view);
    else build(view);
  }
  choose(view, header.chosen);
  showChosen(view);
  if (header.film) {
    view.player ??= makePlayer({
      root,
      onFrame: (film, place, isChosen) => showFrame(view, film, place, isChosen),
      onChosen: (step) => view.sendMoment(step),
    });
    updatePlayer(view.player, header.film);
  }
}

function makeView(root) {
  const view = { root, heads: [], rows: [] };
  view.canvas = element("canvas", "pixels");
  view.canvas.setAttribute("aria-hidden", "true");
  view.groups = element("div", "groups");
  view.tip = element("div", "tip");
  view.tip.hidden = true;
  view.tip.setAttribute("aria-hidden", "true"); // the buttons say the same
  root.append(view.canvas, view.groups, view.tip);
  view.theme = watchTheme(root, () => draw(view));
  new ResizeObserver(() => draw(view)).observe(view.groups);
  new ResizeObserver(() => fit(view)).observe(root);
  root.addEventListener("keydown", (event) => move(view, event));
  root.addEventListener("scroll", () => (view.tip.hidden = true));
  return view;
}

function build(view) {
  const chosen = view.heads.find((item) => item.button.getAttribute("aria-pressed") === "true");
  Object.assign(view, { heads: [], rows: [], grids: [] });
  view.groups.replaceChildren();
  let offset = 0;
  for (const group of view.header.groups) {
    const section = element("section", "group");
    section.setAttribute("aria-label", group.title);
    section.append(element("h4", "title", group.title));
    const columns = columnsOf(view, group);
    const lines = Math.ceil(group.heads / columns);
    const grid = element("div", "grid");
    if (lines === 1) {
      grid.append(element("span", "corner"));
      for (let head = 0; head < group.heads; head++) grid.append(element("span", "column"));
    }
    for (let layer = 0; layer < group.layers; layer++) {
      const label = element("span", "row", `layer ${layer}`);
      label.style.gridRow = `span ${lines}`;
      grid.append(label);
      for (let head = 0; head < group.heads; head++) {
        const size = group.queries * group.keys;
        const item = makeHead(view, group, layer, head, view.levels.slice(offset, offset + size));
        offset += size;
        if (head % columns === 0) view.rows.push([]);
        view.rows.at(-1).push(item);
        const cell = element("div", "cell");
        if (lines > 1) cell.append(element("span", "column", `head ${head}`));
        cell.append(item.button);
        grid.append(cell);
      }
    }
    section.append(grid);
    view.groups.append(section);
    view.grids.push({ group, grid, columns, lines });
  }
  if (chosen) choose(view, chosen);
  if (view.player && view.player.header.id === view.header.film?.id) showAgain(view.player);
  fit(view);
}

function hasSameHeads(former, header) {
  const shape = (group) => [group.attention, group.title, group.layers, group.heads].join();
  return former?.groups.map(shape).join() === header.groups.map(shape).join();
}

function refill(view) {
  // The same heads on another text, or a moment later in a training: new pictures under the same buttons.
  let offset = 0;
  for (const item of view.heads) {
    const group = view.header.groups.find(({ attention }) => attention === item.attention);
    const size = group.queries * group.keys;
    if (!view.header.film) {
      const { queries, keys } = group;
      Object.assign(item, { levels: view.levels.slice(offset, offset + size), queries, keys });
      nameHead(item, group);
    }
    offset += size;
  }
  view.tip.hidden = true;
  draw(view);
}

function showFrame(view, film, place, isChosen) {
  // A moment of a film: other pictures under the same buttons, which get their names when the film stands still.
  const { labels } = view.header.film;
  let [offset, cell, next] = [place * film.size, 3 * place * film.heads, 0];
  for (const { attention, heads, rows, columns } of film.groups) {
    const { queries, keys } = labels[attention];
    for (const item of view.heads.slice(next, (next += heads))) {
      Object.assign(item, { levels: film.levels.subarray(offset, (offset += rows * columns)), queries: rows, keys: columns });
      const [query, key, hundredths] = film.strongest.subarray(cell, (cell += 3));
      item.strongest = `“${queries[query]}” → “${keys[key]}” ${(hundredths / 100).toFixed(2)}`;
      if (isChosen) sayName(item);
    }
  }
  if (view.pointedAt && !view.tip.hidden) showTip(view, view.pointedAt);
  draw(view);
}

function nameHead(item, group) {
  item.name = `${group.title}, layer ${item.layer}, head ${item.head}`;
  item.strongest = group.strongest?.[item.layer][item.head] ?? "";
  sayName(item);
}

function sayName({ button, name, strongest }) {
  button.setAttribute("aria-label", `${name}. Strongest: ${strongest}`);
}

function columnsOf(view, group) {
  // How many heads stand side by side: all, unless one group has the room to itself and wins much by more lines.
  if (view.header.groups.length > 1 || !view.root.offsetWidth) return group.heads;
  const side = (columns) => Math.min(...sizeOf(view, group, columns));
  const divisors = Array.from({ length: group.heads }, (_, i) => i + 1).filter((n) => group.heads % n === 0);
  const best = divisors.reduce((one, other) => (side(other) >= side(one) ? other : one));
  return side(best) > GAIN * side(group.heads) ? best : group.heads;
}

function sizeOf(view, group, columns) {
  // The width and height, px, that the room leaves for each picture.
  const gap = gapOf(group);
  const lines = group.layers * Math.ceil(group.heads / columns);
  const [header, caption] = columns < group.heads ? [TITLE, CAPTION] : [HEADER, 0];
  const width = (view.root.offsetWidth - ROW_LABEL - gap * columns) / columns;
  const height = (view.root.offsetHeight - header - gap * lines) / lines - caption;
  return [width, height].map((side) => Math.max(SMALLEST, Math.floor(side)));
}

function gapOf(group) {
  return group.heads > 24 ? 2 : group.heads > 8 ? 3 : 6;
}

function fit(view) {
  // Sets the sizes again after the window changed, and draws.
  const { root, header } = view;
  if (!header || !root.offsetWidth) return;
  if (view.grids.some(({ group, columns }) => columnsOf(view, group) !== columns)) return build(view);
  for (const { group, grid, columns, lines } of view.grids) {
    let [width, height] = sizeOf(view, group, columns);
    grid.style.gap = `${gapOf(group)}px`;
    if (header.groups.length === 1) {
      width = Math.min(width, height * OBLONG);
      height = Math.min(Math.max(height, width / OBLONG), width * OBLONG);
      grid.style.gridTemplateColumns = `max-content repeat(${columns}, ${width}px)`;
      grid.style.gridTemplateRows = lines === 1 ? "18px" : "none";
      grid.style.gridAutoRows = `${height + (lines > 1 ? CAPTION : 0)}px`;
    } else {
      grid.style.gridTemplateColumns = `auto repeat(${columns}, minmax(${SMALLEST}px, 1fr))`;
    }
    if (lines > 1) continue;
    const isNarrow = width < 42; // px: "head 10" would not fit
    grid.querySelector(".corner").textContent = isNarrow ? "head" : "";
    const step = Math.ceil(NUMBER / width);
    grid.querySelectorAll(".column").forEach((label, head) => {
      label.textContent = !isNarrow ? `head ${head}` : head % step === 0 ? head : "";
      label.classList.toggle("wide", step > 1);
    });
  }
  draw(view);
}

function makeHead(view, group, layer, head, levels) {
  const button = element("button", "head");
  button.type = "button";
  button.tabIndex = -1;
  const item = { attention: group.attention, layer, head, button, levels, queries: group.queries, keys: group.keys };
  nameHead(item, group);
  button.addEventListener("click", () => {
    const { attention } = item;
    choose(view, { attention, layer, head });
    view.send({ attention, layer, head });
  });
  const show = () => showTip(view, (view.pointedAt = item));
  const hide = () => (view.tip.hidden = true);
  button.addEventListener("mouseenter", show);
  button.addEventListener("mouseleave", hide);
  button.addEventListener("focus", () => button.matches(":focus-visible") && show());
  button.addEventListener("blur", hide);
  view.heads.push(item);
  return item;
}

function choose(view, chosen) {
  for (const item of view.heads) {
    const is = item.attention === chosen.attention && item.layer === chosen.layer && item.head === chosen.head;
    item.button.setAttribute("aria-pressed", String(is));
    item.button.tabIndex = is ? 0 : -1;
  }
}

function showChosen(view) {
  // Scrolls the overview, never the page.
  const button = view.heads.find((item) => item.button.getAttribute("aria-pressed") === "true")?.button;
  if (!button) return;
  const [around, box] = [view.root.getBoundingClientRect(), button.getBoundingClientRect()];
  if (box.bottom > around.bottom) view.root.scrollTop += box.bottom - around.bottom + 6;
  if (box.top < around.top) view.root.scrollTop -= around.top - box.top + 40;
}

function move(view, event) {
  const step = MOVES[event.key];
  const row = view.rows.findIndex((items) => items.some((item) => item.button === event.target));
  if (!step || row < 0) return;
  event.preventDefault();
  const column = view.rows[row].findIndex((item) => item.button === event.target) + step[1];
  const items = view.rows[Math.min(Math.max(row + step[0], 0), view.rows.length - 1)];
  const { button } = items[Math.min(Math.max(column, 0), items.length - 1)];
  button.focus();
  button.scrollIntoView({ block: "nearest" });
}

function showTip(view, { button, name, strongest }) {
  const { tip, root } = view;
  tip.replaceChildren(element("strong", "", name), element("span", "", strongest));
  tip.hidden = false;
  const [around, box] = [root.getBoundingClientRect(), button.getBoundingClientRect()];
  const below = box.bottom - around.top + root.scrollTop + 6;
  const fits = below + tip.offsetHeight < root.scrollTop + root.clientHeight;
  tip.style.top = `${fits ? below : box.top - around.top + root.scrollTop - tip.offsetHeight - 6}px`;
  const left = box.left - around.left + box.width / 2 - tip.offsetWidth / 2;
  tip.style.left = `${root.scrollLeft + Math.min(Math.max(left, 0), root.clientWidth - tip.offsetWidth)}px`;
}

function draw(view) {
  const { canvas, groups, heads, header } = view;
  if (!header || !groups.offsetWidth) return;
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [groups.offsetWidth, groups.offsetHeight];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  const colors = palette(header.scales[view.theme()]);
  const origin = groups.getBoundingClientRect();
  for (const item of heads) {
    const box = item.button.getBoundingClientRect();
    const [left, top] = [Math.round((box.left - origin.left) * ratio), Math.round((box.top - origin.top) * ratio)];
    const [w, h] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    context.save();
    context.beginPath();
    context.roundRect(left, top, w, h, Math.min(CORNER * ratio, 0.12 * w));
    context.clip();
    context.imageSmoothingEnabled = item.keys > w || item.queries > h;
    context.drawImage(picture(item, colors), left, top, w, h);
    context.restore();
  }
}

function picture(item, colors) {
  const { keys, queries, levels } = item;
  if (item.canvas?.width !== keys || item.canvas.height !== queries) {
    item.canvas = new OffscreenCanvas(keys, queries);
    item.image = new ImageData(keys, queries);
    item.pixels = new Uint32Array(item.image.data.buffer);
  }
  for (let cell = 0; cell < levels.length; cell++) item.pixels[cell] = colors[levels[cell]];
  item.canvas.getContext("2d").putImageData(item.image, 0, 0);
  return item.canvas;
}

function palette({ sequential, forbidden }) {
  // 256 colors as the four bytes of a pixel; levels between two given colors are mixed.
  const bytes = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const stops = sequential.map(([value, color]) => [value, bytes(color)]);
  const colors = new Uint8ClampedArray(4 * 256);
  for (let level = 0; level < FORBIDDEN; level++) {
    const value = level / (FORBIDDEN - 1);
    const next = Math.max(1, stops.findIndex(([stop]) => stop >= value));
    const [[start, low], [end, high]] = [stops[next - 1], stops[next]];
    const share = (value - start) / (end - start);
    for (let part = 0; part < 3; part++) colors[4 * level + part] = low[part] + (high[part] - low[part]) * share;
    colors[4 * level + 3] = 255;
  }
  colors.set([...bytes(forbidden), 255], 4 * FORBIDDEN);
  return new Uint32Array(colors.buffer);
}
