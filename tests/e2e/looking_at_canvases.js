// Remembers what is written on each canvas, and where, until it is cleared: `drawnTexts`, corners in its own pixels, of
// the whole text and of all but its edges, which may touch a neighbour's.
(() => {
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
  const size = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "width");
  const FAINT = 0.15; // opacity of what is not meant to be read

  Object.defineProperty(HTMLCanvasElement.prototype, "width", {
    ...size,
    set(width) {
      this.drawnTexts = [];
      size.set.call(this, width);
    },
  });

  CanvasRenderingContext2D.prototype.clearRect = function (...box) {
    this.canvas.drawnTexts = [];
    return clearRect.apply(this, box);
  };

  CanvasRenderingContext2D.prototype.fillText = function (words, x, y, ...rest) {
    if (this.globalAlpha > FAINT && words.trim()) {
      const { actualBoundingBoxLeft, actualBoundingBoxRight, actualBoundingBoxAscent, actualBoundingBoxDescent } =
        this.measureText(words);
      const [left, right] = [x - actualBoundingBoxLeft, x + actualBoundingBoxRight];
      const [top, bottom] = [y - actualBoundingBoxAscent, y + actualBoundingBoxDescent];
      const matrix = this.getTransform();
      const cornersWithin = (inset) =>
        [[left, top + inset], [right, top + inset], [right, bottom - inset], [left, bottom - inset]].map(([u, v]) => {
          const at = matrix.transformPoint(new DOMPoint(u, v));
          return [at.x, at.y];
        });
      const inner = cornersWithin(0.2 * (bottom - top));
      (this.canvas.drawnTexts ??= []).push({ words, align: this.textAlign, corners: cornersWithin(0), inner });
    }
    return fillText.call(this, words, x, y, ...rest);
  };
})();
