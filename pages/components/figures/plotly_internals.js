// What plotly.js keeps to itself of a figure that it has drawn, read here and nowhere else: another version of it may call
// these otherwise. tests/pages/components/figures/plotly_internals.test.js asks the real one for each.
//
// Saved pages hold `fullLayout` and `roomOf`, too, as text, so these stand on their own.

/** The layout, with all defaults filled in. */
export function fullLayout(plot) {
  return plot._fullLayout;
}

/** The traces, with all defaults filled in; each has its `index`, and the ids of its axes: "x", "y2". */
export function fullTraces(plot) {
  return plot._fullData;
}

/** The points of a line, hidden ones not: where each lies along the axes, {x, y}, and as which it came, {i}. */
export function pointsOf(plot, trace) {
  return plot.calcdata[trace.index];
}

/** The px between the margins, {w, h}, and those of the margins, {l, r, t, b}, with what labels made them grow by. */
export function roomOf(plot) {
  return plot._fullLayout._size;
}

/**
 * An axis as it is drawn: {offset, length} in px, the functions that lead from a number along it to px from its beginning
 * and back, its range, and what is written along it: title, ticks, categories if it has any.
 *
 * @param {any} plot
 * @param {string} id - as traces have it, "x2", or as the layout has it, "xaxis2"
 */
export function axisOf(plot, id) {
  const axis = plot._fullLayout[id.replace(/^([xy])(axis)?/, "$1axis")];
  const { _offset: offset, _length: length, c2p: toPixels, p2l: toNumber, _categories: categories = [] } = axis;
  const { range, title, tickvals, ticktext } = axis;
  return { offset, length, toPixels, toNumber, range, title, tickvals, ticktext, categories };
}

/** The legends that are drawn: where each begins, `y` of the plot's height, and how high it is, in px. */
export function legendsOf(plot) {
  const { _fullLayout: layout } = plot;
  const names = Object.keys(layout).filter((name) => /^legend\d*$/.test(name) && layout[name]?._effHeight);
  return names.map((name) => ({ y: layout[name].y, height: layout[name]._effHeight }));
}

/** Where each panel begins, as a part of the plot's height. */
export function panelStarts(plot) {
  return Object.values(plot._fullLayout._plots).map(({ yaxis }) => yaxis.domain[0]);
}

/** What is clicked in a legend, the first or another one, to hide or show a trace. */
export function legendToggle(plot, isTrace) {
  const entries = [...plot.querySelectorAll(".traces")];
  return entries.find(({ __data__: [entry] }) => isTrace(entry.trace))?.querySelector('[class$="toggle"]'); // "legend2toggle"
}
