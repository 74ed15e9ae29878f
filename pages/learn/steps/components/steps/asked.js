// When a cell was chosen in the figure; the number that the page answers with comes into sight then.

let at = -Infinity;

export function ask() {
  at = performance.now();
}

/** Whether a person asked within the last `patience` ms; the answer to it comes once. */
export function isAwaited(patience) {
  const isSoon = performance.now() - at <= patience;
  at = -Infinity;
  return isSoon;
}
