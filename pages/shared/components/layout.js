// A figure laid out for the place that it is drawn in. Saved pages hold these functions too, as text.

const LAYOUT = {
  beside: 190, // px, that labels, color bar and margins take from a figure's width
  least: { grid: 110, plain: 70 }, // px, that they take at least, of a matrix and of bars
  label: 14, // px, from one slanted label of the columns to the next
  labels: [13, 12, 11, 10], // px, the sizes of labels that lie, of which the first that fits is taken
  title: 15, // px, the size of a title where it fits
  small: 12, // px: the size of a title in two lines, where it would be smaller in one
  letter: 0.47, // the width of a letter, on the average, in sizes
};

function layOut(figure, width, height, taken = 0) {
  // taken: px of the title's line that something else takes.
  Object.assign(figure.layout, { width, height });
  dropTightTexts(figure, width);
  thinOutColumns(figure, width);
  fitTitle(figure.layout, width - taken);
}

function fitTitle(layout, room) {
  const { title } = layout;
  const sizeOf = (line) => Math.floor(room / (LAYOUT.letter * (line.length || 1)));
  const text = title?.text ?? "";
  if (sizeOf(text) >= LAYOUT.title) return;
  const size = Math.max(sizeOf(text), LAYOUT.title / 2);
  title.font = { size };
  const gaps = [...text.matchAll(/ /g)].map(({ index }) => index);
  if (size >= LAYOUT.small || !gaps.length || text.includes("<") || title.subtitle) return;
  const away = (gap) => Math.abs(gap - text.length / 2);
  const gap = gaps.reduce((best, other) => (away(other) < away(best) ? other : best));
  const lines = [text.slice(0, gap), text.slice(gap + 1)];
  title.text = lines.join("<br>");
  title.font.size = Math.min(LAYOUT.small, Math.max(size, Math.min(...lines.map(sizeOf))));
  title.pad = { ...title.pad, t: (title.pad?.t ?? 0) + 1.3 * title.font.size }; // that of the last line
  if (layout.margin?.t) layout.margin = { ...layout.margin, t: layout.margin.t + 1.5 * title.font.size };
}

function dropTightTexts(figure, width) {
  const { textFromWidth = 0 } = figure.layout.meta ?? {}; // px: on less, texts in the figure would overlap
  if (width < textFromWidth) figure.data = figure.data.filter((trace) => trace.mode !== "text");
}

function thinOutColumns({ data, layout }, width) {
  // Each matrix of a figure has a part of its width, and labels of its own.
  const least = LAYOUT.least[data.some(({ type }) => type === "heatmap") ? "grid" : "plain"];
  for (const [name, axis] of Object.entries(layout)) {
    if (!/^xaxis\d*$/.test(name) || !axis.ticktext?.length) continue;
    const isLying = axis.tickangle === 0;
    const { l = 80, r = 80 } = layout.margin ?? {};
    const [from, to] = axis.domain ?? [0, 1];
    const room = (width - (axis.domain ? l + r : isLying ? least : LAYOUT.beside)) * (to - from);
    if (!isLying) thinOut(axis, room, LAYOUT.label);
    else fitLying(axis, room);
  }
}

function fitLying(axis, room) {
  // Labels that lie beside each other become smaller before some are left out.
  const letters = axis.ticktext.map((text) => String(text).replace(/<[^>]*>/g, "").replace(/&\w+;/g, "x").length);
  const apart = (size) => Math.max(...letters) * LAYOUT.letter * size + 4;
  const own = axis.tickfont?.size ?? LAYOUT.labels[0];
  const spacing = room * (Math.abs(axis.tickvals[1] - axis.tickvals[0]) / Math.abs(axis.range?.[1] - axis.range?.[0]));
  if (!(apart(own) > spacing)) return;
  const sizes = LAYOUT.labels.filter((size) => size < own);
  const size = sizes.find((size) => apart(size) <= spacing) ?? sizes.at(-1) ?? own;
  axis.tickfont = { ...axis.tickfont, size };
  thinOut(axis, room, apart(size));
}

function thinOut(axis, room, apart) {
  // Leaves as many labels as there is room for; the figure was laid out for a size of its own.
  if (axis?.tickmode !== "array" || !axis.range) return;
  const [first, last] = axis.range;
  const spacing = Math.abs(axis.tickvals[1] - axis.tickvals[0]) * (room / Math.abs(last - first));
  const step = Math.ceil(apart / spacing);
  if (!(step > 1)) return;
  axis.tickvals = axis.tickvals.filter((_, i) => i % step === 0);
  axis.ticktext = axis.ticktext.filter((_, i) => i % step === 0);
}
