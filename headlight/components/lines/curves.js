// Curves from queries on the left to keys on the right, one color a head, the stronger the more opaque.
//
// Weights are whole numbers from 0 to 65534 for 0 to 1, and 65535 where the mask does not allow the cell. Curves of
// about the same weight are one path: thousands are painted in a few milliseconds, and many faint ones that cross do
// not add up to a strong one.

import { brushOf } from "../kit/canvas.js";

export const TOP = 65534;
export const FORBIDDEN = 65535;
export const LEAST = 0.005; // weights below are "0.00", and are not drawn
export const MOST_CURVES = 4000; // at once; of more that are in sight, the strongest are drawn
const STEPS = 24; // of opacity
const EXPONENT = 1 / 1.3; // as the figures' colors: weights of 0.05 are common, and must be seen beside one of 0.9
const THIN = 1.1; // px, the width of the faintest curve
const THICK = 3; // px, of one of weight 1

export function sortCurves(weights) {
  // The places of all weights that are drawn, in steps of opacity, the faintest first.
  const steps = Array.from({ length: STEPS }, () => /** @type {number[]} */ ([]));
  const least = LEAST * TOP;
  for (let place = 0; place < weights.length; place++) {
    const weight = weights[place];
    if (weight >= least && weight !== FORBIDDEN) steps[stepOf(weight)].push(place);
  }
  return steps;
}

function stepOf(weight) {
  return Math.min(STEPS - 1, Math.floor((weight / TOP) ** EXPONENT * STEPS));
}

export function paintCurves(canvas, curves, isWanted) {
  // Returns whether there was room for all. isWanted(query, key): whether a curve is drawn.
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.offsetWidth, canvas.offsetHeight];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = brushOf(canvas);
  context.scale(ratio, ratio);
  const { paths, isWhole } = pathsOf(curves, width, height, isWanted);
  for (const { step, head, path } of paths.reverse()) {
    const opacity = (step + 0.5) / STEPS;
    context.globalAlpha = opacity;
    context.strokeStyle = curves.hues[head];
    context.lineWidth = THIN + (THICK - THIN) * opacity ** (1 / EXPONENT);
    context.stroke(path);
  }
  return isWhole;
}

function pathsOf({ steps, nQueries, nKeys, hues, pitch, scrolled }, width, height, isWanted) {
  // A path for each step and head, the strongest first, of the curves that come through the window.
  const paths = [];
  const middle = width / 2;
  let room = MOST_CURVES;
  for (let step = STEPS - 1; step >= 0 && room >= 0; step--) {
    const ofHeads = hues.map(() => null);
    for (const place of steps[step]) {
      const key = place % nKeys;
      const line = (place - key) / nKeys;
      const query = line % nQueries;
      const [from, to] = [(query + 0.5) * pitch - scrolled, (key + 0.5) * pitch - scrolled];
      if (Math.max(from, to) < 0 || Math.min(from, to) > height || !isWanted(query, key)) continue;
      if (room-- <= 0) break;
      const path = (ofHeads[(line - query) / nQueries] ??= new Path2D());
      path.moveTo(0, from);
      path.bezierCurveTo(middle, from, middle, to, width, to);
    }
    ofHeads.forEach((path, head) => path && paths.push({ step, head, path }));
  }
  return { paths, isWhole: room >= 0 };
}
