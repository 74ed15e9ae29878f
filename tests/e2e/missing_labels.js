// Finds each axis of tokens on which some token has no label although each has `line` px or more.
(line) => [...document.querySelectorAll(".js-plotly-plot")].flatMap((plot) =>
  Object.entries(plot._fullLayout)
    .filter(([name, axis]) => /^[xy]axis\d*$/.test(name) && axis?.tickmode === "array" && axis.range)
    .flatMap(([name, { _id, _length, range }]) => {
      const [first, last] = [...range].sort((a, b) => a - b);
      const labels = [...plot.querySelectorAll(`.${_id}tick text`)].map((label) => label.textContent).filter(Boolean);
      const maps = plot._fullData.filter((trace) => trace.type === "heatmap" && [trace.xaxis, trace.yaxis].includes(_id));
      const drawn = maps.map(({ z }) => (name.startsWith("x") ? z[0].length : z.length)); // of a text that is being written
      const [n, pitch] = [Math.min(Math.round(last - first), ...drawn), _length / (last - first)];
      const isOfTokens = Math.abs((((first % 1) + 1) % 1) - 0.5) < 1e-6 && !labels.every((label) => /^\d+$/.test(label));
      return isOfTokens && labels.length && pitch >= line && labels.length < n
        ? [`${plot.layout.title?.text}, ${name}: ${labels.length} of ${n} labels, ${pitch.toFixed(1)} px for each`]
        : [];
    }),
)
