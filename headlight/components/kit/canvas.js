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
