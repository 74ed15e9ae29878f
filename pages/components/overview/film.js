// Keeps the pictures of a film for the overview beside it, so that they are sent once and not with every click.
//
// data: a header's length (uint32, little endian), the header (JSON: id, frames and groups, as in overview.js), then for
// each frame and head query, key and hundredths of its strongest cell (uint16), then one byte a cell, frame by frame.

import { unpack } from "../../../headlight/components/kit/packing.js";
import { keepFilm } from "./player.js";

export default function ({ data }) {
  const { header, rest } = unpack(data);
  const heads = header.groups.reduce((sum, { layers, heads }) => sum + layers * heads, 0);
  const bytes = 6 * heads * header.frames;
  keepFilm(header.id, {
    groups: header.groups,
    heads,
    size: header.groups.reduce((sum, { layers, heads, queries, keys }) => sum + layers * heads * queries * keys, 0), // of a frame
    strongest: new Uint16Array(rest.slice(0, bytes).buffer),
    levels: rest.subarray(bytes),
  });
}
