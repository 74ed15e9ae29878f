// Lines from every query to the keys that it attends to, on a page.
//
// data: as mounting.py packs it; after the header a weight for every head, query and key (uint16, little endian).

import { unpack } from "../../../../../headlight/components/kit/packing.js";
import { makeLines, updateLines } from "../../../../../headlight/components/lines/lines.js";
import { mount } from "../../../../components/kit/mount.js";

export default await mount(import.meta.url, {
  styles: ["../../../../../headlight/components/lines/lines.css"],
  make: makeLines,
  update(view, data, send) {
    const { header, rest } = unpack(data);
    updateLines(view, { header, weights: new Uint16Array(rest.slice().buffer) }, send);
  },
});
