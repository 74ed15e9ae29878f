// A figure laid out for the place that it is drawn in. Saved pages hold these functions too, as text.

const LAYOUT = {
  beside: 190, // px, that labels, color bar and margins take from a figure's width
  label: 14, // px, from one label of the columns to the next
  title: 15, // px, the size of a title where it fits
  letter: 0.47, // the width of a letter, on the average, in sizes
};

function layOut(figure, width, height) {
  Object.assign(figure.layout, { width, height });
  dropTightTexts(figure, width);
  thinOut(figure.layout.xaxis, width - LAYOUT.beside, LAYOUT.label);
  const { title } = figure.layout;
  const size = Math.floor(width / (LAYOUT.letter * (title?.text?.length || 1)));
  if (size < LAYOUT.title && title) title.font = { size: Math.max(size, LAYOUT.title / 2) };
}

function dropTightTexts(figure, width) {
  const { textFromWidth = 0 } = figure.layout.meta ?? {}; // px: on less, texts in the figure would overlap
  if (width < textFromWidth) figure.data = figure.data.filter((trace) => trace.mode !== "text");
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
