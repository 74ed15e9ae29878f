// The patterns of an attention's heads as lines from queries to keys, in place of their maps. It is loaded when a person
// asks for it. The lines have a separate shadow root: their style sheet and the stage’s use the same names.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { makeLines, updateLines } from "../../../../../headlight/components/lines/lines.js";
import { FORBIDDEN, TOP } from "../../../../../headlight/components/lines/curves.js";
import { load } from "../../../../components/kit/mount.js";
import { nShown } from "./panels.js";

const SHEET = await load(new URL("../../../../../headlight/components/lines/lines.css", import.meta.url));

/** Fills a place of the stage; returns a function that draws the lines of the step that is shown. */
export function linesIn(view, place) {
  const shadow = place.attachShadow({ mode: "open" });
  shadow.adoptedStyleSheets.push(SHEET);
  const root = element("div", "lines");
  shadow.append(root);
  const lines = makeLines(root);
  return (height) => {
    root.style.setProperty("--hl-stage", `${height}px`);
    updateLines(lines, linesOf(view), () => undefined);
  };
}

/** What the lines are drawn from: the queries and keys that are there at this step, and the weights of all heads. */
export function linesOf(view) {
  const { header } = view;
  const panel = header.lanes[0].panels.find(({ shape }) => shape === "heads");
  const [nHeads, nRows, nColumns] = panel.size;
  const sides = { query: panel.rows, key: panel.columns };
  const [nQueries, nKeys] = [nShown(view, sides.query), nShown(view, sides.key)];
  const weights = new Uint16Array(nHeads * nQueries * nKeys);
  weights.forEach((_, i) => {
    const [head, query, key] = [Math.floor(i / (nQueries * nKeys)), Math.floor(i / nKeys) % nQueries, i % nKeys];
    const value = panel.values[(head * nRows + query) * nColumns + key];
    weights[i] = value === -Infinity ? FORBIDDEN : Math.round(Math.min(Math.max(value, 0), 1) * TOP);
  });
  const colors = header.colors[view.theme()];
  const isGenerated = sides.query === sides.key && sides.query === header.generating && !header.isFilling;
  const labels = {
    query: header.sides[sides.query].labels.slice(0, nQueries),
    key: header.sides[sides.key].labels.slice(0, nKeys),
    border: { query: header.sides[sides.query].border, key: header.sides[sides.key].border },
    first: { query: 0, key: 0 },
    titles: { query: say("Queries"), key: say("Keys") },
    colors: { query: colors.query, key: colors.key },
    names: Array.from({ length: nHeads }, (_, head) => `H${head}`),
    hues: header.headHues,
    chosen: { revision: 0, value: { query: null, key: null } },
    generatedFrom: isGenerated ? header.nGiven : null,
  };
  return { header: labels, weights };
}
