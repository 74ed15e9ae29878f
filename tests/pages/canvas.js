// A canvas for tests without a browser: it paints rectangles and pictures into real pixels, and writes down texts, paths
// and frames with where they are in its own pixels. Colors are "#RRGGBB" or "rgb(r,g,b)"; nothing is smoothed or clipped.

/** The red, green, blue and alpha of a color. */
export function read(color) {
  const hex = color.match(/^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})?$/i);
  if (hex) return hex.slice(1, 5).map((part) => parseInt(part ?? "ff", 16));
  return [...color.match(/[\d.]+/g).map(Number), 255].slice(0, 4);
}

/** A color as one number, as pixels hold it. */
const wordOf = (color) => new Uint32Array(Uint8ClampedArray.from(color).buffer)[0];

class Path {
  points = [];
  moveTo(x, y) { this.#add(["M", x, y]); }
  lineTo(x, y) { this.#add(["L", x, y]); }
  bezierCurveTo(...at) { this.#add(["C", ...at]); }
  quadraticCurveTo(...at) { this.#add(["Q", ...at]); }
  roundRect(x, y, w, h) { this.#add(["R", x, y, w, h]); }
  rect(x, y, w, h) { this.#add(["R", x, y, w, h]); }
  #add(part) { this.points.push(part); }
}

class Brush extends Path {
  constructor(canvas) {
    super();
    this.canvas = canvas;
    this.reset();
    for (const name of ["fillStyle", "strokeStyle", "globalAlpha", "lineWidth", "font", "textAlign"]) {
      Object.defineProperty(this, name, { get: () => this.state[name], set: (value) => { this.state[name] = value; } });
    }
  }

  /** As it begins, and as it is after the canvas got a size. */
  reset() {
    this.state = { scale: [1, 1], origin: [0, 0], fillStyle: "#000000", strokeStyle: "#000000", globalAlpha: 1, lineWidth: 1, font: "", textAlign: "left" };
    Object.assign(this, { saved: [], texts: [], paths: [], frames: [] });
  }
  save() { this.saved.push({ ...this.state }); }
  restore() { this.state = this.saved.pop(); }
  scale(x, y) { this.state.scale = [this.state.scale[0] * x, this.state.scale[1] * y]; }
  setTransform(x, _, __, y, left, top) { Object.assign(this.state, { scale: [x, y], origin: [left, top] }); }
  translate(x, y) { this.state.origin = this.#at(x, y); }
  rotate() {}
  clip() {}
  setLineDash() {}
  clearRect() {
    Object.assign(this, { texts: [], paths: [], frames: [] });
    this.canvas.pixels.fill(0);
  }
  beginPath() { this.points = []; }
  measureText(text) { return { width: 6 * text.length }; }

  fillText(text, x, y) {
    const [left, top] = this.#at(x, y);
    this.texts.push({ text, x: left, y: top, color: this.fillStyle, align: this.textAlign, font: this.font });
  }
  strokeRect(x, y, w, h) { this.frames.push({ box: [...this.#at(x, y), ...this.#by(w, h)], color: this.strokeStyle, width: this.lineWidth }); }
  stroke(path = this) { this.#note("stroke", path, this.strokeStyle); }
  fill(path = this) {
    this.#note("fill", path, this.fillStyle);
    for (const [kind, ...box] of path.points) if (kind === "R") this.fillRect(...box);
  }
  #note(kind, path, color) { this.paths.push({ kind, points: [...path.points], color, alpha: this.globalAlpha, width: this.lineWidth }); }

  fillRect(x, y, w, h) {
    const word = wordOf(read(this.fillStyle));
    this.#paint(x, y, w, h, () => word);
  }
  drawImage(source, ...at) {
    const [sx, sy, sw, sh, x, y, w = source.width, h = source.height] = at.length === 8 ? at : [0, 0, source.width, source.height, ...at];
    const known = new Map(); // most of its pixels are painted many times
    this.#paint(x, y, w, h, (across, down) => {
      const at = [Math.floor(sx + across * sw), Math.floor(sy + down * sh)];
      const key = at[1] * 65536 + at[0];
      return known.get(key) ?? known.set(key, wordOf(source.pixel(...at))).get(key);
    });
  }
  #paint(x, y, w, h, wordAt) {
    const words = new Uint32Array(this.canvas.pixels.buffer);
    const [left, top] = this.#at(x, y).map(Math.round);
    const [right, bottom] = this.#at(x + w, y + h).map(Math.round);
    const { width, height } = this.canvas;
    for (let row = Math.max(top, 0); row < Math.min(bottom, height); row++) {
      for (let column = Math.max(left, 0); column < Math.min(right, width); column++) {
        const word = wordAt((column + 0.5 - left) / (right - left), (row + 0.5 - top) / (bottom - top));
        words[row * width + column] = word;
      }
    }
  }

  createImageData(width, height) { return new Image(width, height); }
  getImageData(left, top, width, height) {
    const image = new Image(width, height);
    for (let i = 0; i < width * height; i++) image.data.set(this.canvas.pixel(left + (i % width), top + Math.floor(i / width)), 4 * i);
    return image;
  }
  putImageData({ data }) { this.canvas.pixels.set(data); }
  #at(x, y) {
    const { scale, origin } = this.state;
    return [origin[0] + x * scale[0], origin[1] + y * scale[1]];
  }
  #by(w, h) { return [w * this.state.scale[0], h * this.state.scale[1]]; }
}

class Image {
  constructor(width, height) { Object.assign(this, { width, height, data: new Uint8ClampedArray(4 * width * height) }); }
}

export class Canvas {
  #size = [300, 150];
  style = {};

  constructor(width = 300, height = 150) { this.#resize(width, height); }
  get width() { return this.#size[0]; }
  set width(width) { this.#resize(width, this.height); }
  get height() { return this.#size[1]; }
  set height(height) { this.#resize(this.width, height); }
  #resize(width, height) {
    this.#size = [width, height];
    this.pixels = new Uint8ClampedArray(4 * width * height);
    this.brush ??= new Brush(this);
    this.brush.reset();
  }
  getContext() { return this.brush; }
  /** Red, green, blue and alpha. */
  pixel(x, y) { return [...this.pixels.subarray(4 * (y * this.width + x), 4 * (y * this.width + x) + 4)]; }
}

/** Lets modules paint and load without a browser. To be imported before them. */
Object.assign(globalThis, {
  window: globalThis,
  devicePixelRatio: 1,
  Path2D: Path,
  ImageData: Image,
  OffscreenCanvas: Canvas,
  document: { createElement: () => new Canvas() },
  CSSStyleSheet: class {
    replace = async () => this;
    replaceSync = () => {};
  },
  fetch: async () => ({ ok: true, text: async () => "" }),
});

/** A box as elements have it. */
export const boxOf = (left, top, width, height) => ({ left, top, width, height, right: left + width, bottom: top + height });

/** Numbers that look random, and are the same each time: from 0 to 1. */
export function random(seed) {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

/** A color between those of a scale of [value, "#RRGGBB"], on its own. */
export function between(stops, value) {
  const at = Math.min(Math.max(value, stops[0][0]), stops[stops.length - 1][0]);
  const end = stops.findIndex(([stop], i) => i > 0 && at <= stop);
  const [[from, low], [to, high]] = [stops[end - 1], stops[end]];
  const [one, other] = [read(low), read(high)];
  return [0, 1, 2].map((i) => one[i] + ((other[i] - one[i]) * (at - from)) / (to - from));
}

/** Whether two colors are the same but for rounding. */
export const isNear = (one, other, by = 1.01) => [0, 1, 2].every((i) => Math.abs(one[i] - other[i]) <= by);
