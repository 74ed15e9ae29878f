// What the figures of a page hold: the numbers that they draw, and the labels that can be read beside them.
() => {
  const inJson = (value) => (value === -Infinity ? "-inf" : value);
  const numbers = (values) => Array.from(values, (value) => (value?.length === undefined ? inJson(value) : numbers(value)));
  const ofKey = (element) => [...(element.closest("[class*=st-key-]")?.classList ?? [])].find((name) => name.startsWith("st-key-"));
  const texts = (elements) => Array.from(elements, (element) => element.textContent);

  const axesOf = (plot) =>
    Object.entries(plot._fullLayout)
      .filter(([name, axis]) => /^[xy]axis\d*$/.test(name) && axis?.tickmode === "array" && axis.range)
      .map(([name, { _id, _length, range, tickvals }]) => ({
        name,
        id: _id,
        range,
        pitch: _length / Math.abs(range[1] - range[0]), // px of a place
        places: numbers(tickvals ?? []),
        legend: plot.layout.meta?.legend?.[name] ?? null, // what its numbers stand for: places and words
        labels: texts(plot.querySelectorAll(`.${_id}tick text`)).filter(Boolean),
      }));

  const figures = {};
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    figures[ofKey(plot).replace("st-key-", "")] = {
      title: plot.layout.title?.text ?? "",
      traces: plot._fullData.map(({ type, name, visible, orientation }, i) => {
        const { x, y, xaxis, yaxis } = plot._fullData[i];
        const drawn = { type, name, visible, orientation, axes: [xaxis, yaxis] };
        if (type === "heatmap") return { ...drawn, z: numbers(plot.data[i].z) };
        return type === "bar" ? { ...drawn, x: numbers(x), y: numbers(y) } : drawn;
      }),
      axes: axesOf(plot),
    };
  }

  const find = (selector) => {
    for (const host of document.querySelectorAll('[data-testid^="stBidiComponent"]')) {
      const root = (host.shadowRoot ?? host).querySelector(selector);
      if (root) return root;
    }
    return null;
  };
  const rowsOf = (values, n, width) =>
    Array.from({ length: n }, (_, row) => numbers(values.subarray(row * width, (row + 1) * width)));

  const stepsOf = (root) => {
    if (!root?.view?.header) return null;
    const { view } = root;
    const { send } = view;
    view.send = () => {}; // the stages are walked without the server, and back
    const stops = [...root.querySelectorAll(".stop")];
    const first = stops.findIndex((stop) => stop.hasAttribute("aria-current"));
    const written = stops.flatMap((stop) => {
      stop.click();
      return Array.from(root.querySelectorAll(".lens .number"), ({ textContent, dataset }) => ({ text: textContent, ...dataset }));
    });
    stops[first].click();
    clearTimeout(view.telling);
    view.send = send;
    const quantities = {};
    for (const [name, { n, width, values }] of view.quantities) quantities[name] = rowsOf(values, n, width);
    return {
      quantities,
      written,
      first: view.header.first,
      queries: texts(root.querySelectorAll(".queries .word")),
      keys: texts(root.querySelectorAll(".key .word")),
      query: view.query,
      key: view.key,
      chosen: texts(root.querySelectorAll(".queries .chip[aria-pressed=true] .word, .key[aria-pressed=true] .word")),
      asking: texts(root.querySelectorAll(".asking")),
    };
  };

  const masksOf = (root) => {
    if (!root?.view?.shown) return null;
    const { header, rows, columns, shown, scores, pictures } = root.view;
    return {
      pictures: Object.values(pictures).map(({ name, grid, canvas }) => ({
        name,
        pitch: grid.pitch, // px of a cell
        labels: canvas.drawnTexts?.filter(({ align }) => align !== "center").length, // in the middle are those of cells
      })),
      queries: header.query,
      keys: header.key,
      real: [header.real.query, header.real.key],
      pattern: rowsOf(shown, rows, columns),
      scores: rowsOf(scores, rows, columns),
    };
  };

  const candidatesOf = (root) =>
    root &&
    Array.from(root.querySelectorAll(".row:not([hidden])"), (row) => ({
      token: Number(row.dataset.token),
      ...Object.fromEntries(["rank", "label", "own"].map((name) => [name, row.querySelector(`.${name}`).textContent])),
    }));

  const writingOf = (root) =>
    root && {
      source: texts(root.querySelectorAll(".part.source .chip .word")),
      output: texts(root.querySelectorAll(".part.output .chip .word")),
      current: texts(root.querySelectorAll(".chip[aria-current] .word")),
      at: root.view.header.at + root.view.header.nGiven, // tokens that are read
    };

  return JSON.stringify({
    figures,
    steps: stepsOf(find(".steps")),
    masks: masksOf(find(".mask_matrix")),
    candidates: candidatesOf(find(".candidates")),
    writing: writingOf(find(".writing")),
    steps_of_decoding: Array.from(document.querySelectorAll(".hl-masks-table tbody tr"), ({ cells }) => texts(cells)),
    facts: texts(document.querySelectorAll(".hl-arch-facts div")),
    module: document.querySelector(".hl-arch-block code")?.textContent ?? "",
    captured: document.querySelector(".st-key-hl-arch-site input, .st-key-hl-arch-site [value]")?.value ?? "",
    text_of_b: document.querySelector(".st-key-compare-btext-box input")?.value ?? "",
  });
}
