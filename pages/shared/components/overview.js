// All heads at once: one canvas under a grid of buttons, one button a head.
//
// data: a header's length (uint32, little endian), the header (JSON), then one byte a cell of every pattern:
// 0 to 254 for weights from 0 to 1, 255 where the mask does not allow the cell.

const FORBIDDEN = 255;
const CORNER = 4; // px, as in overview.css
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".overview");
  const view = (root.view ??= makeView(root));
  view.send = (head) => setTriggerValue("chosen", head);
  const { header, levels } = unpack(data);
  if (header.version !== view.version) build(view, header, levels);
  choose(view, header.chosen);
  showChosen(view);
}

function unpack(data) {
  const length = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  return { header, levels: data.subarray(4 + length) };
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
  root.addEventListener("keydown", (event) => move(view, event));
  root.addEventListener("scroll", () => (view.tip.hidden = true));
  return view;
}

function build(view, header, levels) {
  view.version = header.version;
  view.header = header;
  view.heads = [];
  view.rows = [];
  view.groups.replaceChildren();
  let offset = 0;
  for (const group of header.groups) {
    const section = element("section", "group");
    section.setAttribute("aria-label", group.title);
    section.append(element("h4", "title", group.title));
    const grid = element("div", "grid");
    grid.style.gridTemplateColumns = `auto repeat(${group.heads}, minmax(28px, 1fr))`;
    grid.append(element("span", "corner"));
    for (let head = 0; head < group.heads; head++) grid.append(element("span", "column", `head ${head}`));
    for (let layer = 0; layer < group.layers; layer++) {
      grid.append(element("span", "row", `layer ${layer}`));
      const row = [];
      for (let head = 0; head < group.heads; head++) {
        const size = group.queries * group.keys;
        const pixels = levels.slice(offset, offset + size);
        offset += size;
        row.push(makeHead(view, group, layer, head, pixels));
        grid.append(row.at(-1).button);
      }
      view.rows.push(row);
    }
    section.append(grid);
    view.groups.append(section);
  }
  draw(view);
}

function makeHead(view, group, layer, head, levels) {
  const button = element("button", "head");
  button.type = "button";
  button.tabIndex = -1;
  const name = `${group.title}, layer ${layer}, head ${head}`;
  const strongest = group.strongest[layer][head];
  button.setAttribute("aria-label", `${name}. Strongest: ${strongest}`);
  const item = { attention: group.attention, layer, head, button, levels, queries: group.queries, keys: group.keys };
  button.addEventListener("click", () => {
    const { attention } = item;
    choose(view, { attention, layer, head });
    view.send({ attention, layer, head });
  });
  const show = () => showTip(view, button, name, strongest);
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

function showTip(view, button, name, strongest) {
  const { tip, root } = view;
  tip.replaceChildren(element("strong", "", name), element("span", "", strongest));
  tip.hidden = false;
  const [around, box] = [root.getBoundingClientRect(), button.getBoundingClientRect()];
  const below = box.bottom - around.top + root.scrollTop + 6;
  const fits = below + tip.offsetHeight < root.scrollTop + root.clientHeight;
  tip.style.top = `${fits ? below : box.top - around.top + root.scrollTop - tip.offsetHeight - 6}px`;
  const left = box.left - around.left + box.width / 2 - tip.offsetWidth / 2;
  tip.style.left = `${Math.min(Math.max(left, 0), root.clientWidth - tip.offsetWidth)}px`;
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
    context.roundRect(left, top, w, h, CORNER * ratio);
    context.clip();
    context.imageSmoothingEnabled = item.keys > w || item.queries > h;
    context.drawImage(picture(item, colors), left, top, w, h);
    context.restore();
  }
}

function picture(item, colors) {
  const image = new ImageData(item.keys, item.queries);
  new Uint32Array(image.data.buffer).set(Uint32Array.from(item.levels, (level) => colors[level]));
  const canvas = new OffscreenCanvas(item.keys, item.queries);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
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
