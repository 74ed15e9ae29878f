// What paints on canvases, and how wide texts are on them.

/**
 * @param {HTMLCanvasElement} canvas
 * @returns {CanvasRenderingContext2D} what paints on it
 */
export function brushOf(canvas) {
  const brush = canvas.getContext("2d");
  if (!brush) throw new Error("This browser cannot paint on a canvas.");
  return brush;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u; // blocks of Unicode

/**
 * @param {string} label - of a token
 * @returns {string} the label in the direction of its first letter, as `bdi` shows it; a canvas would take left to right
 */
export function isolated(label) {
  return RIGHT_TO_LEFT.test(label) ? `\u2068${label}\u2069` : label;
}

/**
 * A function that measures texts of a font, in CSS pixels.
 *
 * @param {string} font - as in CSS
 */
export function measureIn(font) {
  const brush = brushOf(document.createElement("canvas"));
  brush.font = font;
  return (/** @type {string} */ text) => brush.measureText(text).width;
}
