// How large everything on the stage is: pure arithmetic, in CSS pixels.

export const NARROW = 720; // the width of a lane below which tokens stand without their ids
export const GAP = 8; // between panels, where the arrow is
export const MAP_GAP = 3; // between the maps of heads
export const BAND = 16; // between names and pictures, where the residual stream is drawn
const NAMED = 44; // the least width that maps take, for their name
const NAME = 9.6; // px, the size of names that all these widths are for; larger ones take more
const FRAME = 12; // what the frame of a block adds to the width
const EDGES = 10; // of a strip
const ROW = { overview: [10, 22], block: [12, 24], attention: [14, 26] }; // least and most height
const VECTOR = { overview: [42, 58], block: [36, 110], attention: [44, 140] }; // least and most width
const TIGHT = { map: 24, named: 35, vector: { overview: 24, block: 30, attention: 36 } }; // where a lane would be too wide
const STRETCH = 2; // how much higher than wide a cell of a map may be where maps have no room at their sides
const MAP = { overview: 34, block: 64, attention: 96 }; // the height of a head's map from which a column is enough

/**
 * The width of a list of tokens, at the left of a lane and where rows are of another side: with their ids, or without.
 *
 * @param {boolean} isNarrow
 */
export const tokensWidth = (isNarrow) => (isNarrow ? 68 : 92);

/**
 * The height of a token's row.
 *
 * @param {string} level
 * @param {number} n - rows
 * @param {number} height - that the lane has
 * @param {number} [leastText] - px, that no token is smaller than
 */
export function rowHeight(level, n, height, leastText = 0) {
  const [least, most] = ROW[level];
  return Math.max(least, leastText, Math.min(most, Math.floor(height / n)));
}

/**
 * How the maps of the heads lie: in as many columns as let each be large enough to be read.
 *
 * @param {object} of
 * @param {string} of.level
 * @param {number} of.nHeads
 * @param {number} of.nQueries
 * @param {number} of.nKeys
 * @param {number} of.height - of the panel
 * @param {number} [of.scale] - of the maps, where there is too little room for all panels
 * @param {boolean} [of.isTight]
 * @param {number} [of.larger] - how much larger names are than usual
 */
export function mapsOf({ level, nHeads, nQueries, nKeys, height, scale = 1, isTight = false, larger = 1 }) {
  const least = isTight ? TIGHT.map : MAP[level];
  let columns = level === "attention" ? Math.ceil(Math.sqrt(nHeads)) : 1;
  const side = (n) => {
    const rows = Math.ceil(nHeads / n);
    return (height - (rows - 1) * MAP_GAP) / rows;
  };
  while (columns < nHeads && side(columns) < least) columns += 1;
  const whole = Math.floor(side(columns));
  const square = Math.floor(Math.min(whole, Math.max(whole * scale, least)));
  const mapHeight = Math.min(whole, STRETCH * square);
  const mapWidth = Math.max(8, Math.round((square * nKeys) / nQueries));
  const named = Math.round(larger * (isTight ? TIGHT.named : NAMED));
  return { columns, mapHeight, mapWidth, width: Math.max(named, columns * mapWidth + (columns - 1) * MAP_GAP) };
}

/**
 * The sizes of a lane's panels: smaller where the lane would be too wide; what is too wide even then is scrolled.
 *
 * @param {{panels: {shape: string, size: number[], rows: string, columns: string, group: string}[]}} lane
 * @param {object} room
 * @param {string} room.level
 * @param {number} room.width
 * @param {number} room.height
 * @param {Record<string, number>} room.counts - of the tokens of each side
 * @param {number} [room.leastText] - px, that no text is smaller than
 */
export function fitted(lane, room) {
  const usual = measure(lane, room, room.width < NARROW, false);
  return usual.total <= room.width ? usual : measure(lane, room, true, true);
}

function measure({ panels }, { level, width, height, counts, leastText = 0 }, isNarrow, isTight) {
  const row = rowHeight(level, Math.max(...panels.map(({ rows }) => counts[rows])), height, leastText);
  const larger = Math.max(1, leastText / NAME);
  const [usual, most] = VECTOR[level].map((px) => Math.round(larger * px));
  const least = isTight ? Math.round(larger * TIGHT.vector[level]) : usual;
  const groups = new Set(panels.map(({ group }) => group).filter(Boolean));
  const nLists = panels.filter(({ rows }, i) => rows !== panels[i - 1]?.rows).length;
  const around = GAP * (panels.length + nLists - 1) + FRAME * groups.size + tokensWidth(isNarrow) * nLists + EDGES;
  const mapOf = (panel, scale = 1) => {
    const [nHeads, nQueries, nKeys] = panel.size;
    return mapsOf({ level, nHeads, nQueries, nKeys, height: row * nQueries, scale, isTight, larger });
  };
  const leastOf = ({ group }) => (groups.size && !group ? usual : least); // outside of blocks, names are longer
  const maps = panels.filter(({ shape }) => shape === "heads");
  const vectors = panels.filter(({ shape }) => shape !== "heads");
  const ofMaps = maps.reduce((sum, panel) => sum + mapOf(panel).width, 0);
  const ofVectors = vectors.reduce((sum, panel) => sum + leastOf(panel), 0);
  const scale = Math.min(1, (width - around - ofVectors) / Math.max(ofMaps, 1));
  const sizes = panels.map((panel) => ({
    height: row * counts[panel.rows],
    ...(panel.shape === "heads" ? mapOf(panel, scale) : { width: leastOf(panel) }),
  }));
  const taken = around + sizes.reduce((sum, size) => sum + size.width, 0);
  const share = Math.max(0, Math.floor((width - taken) / Math.max(vectors.length, 1)));
  panels.forEach(({ shape }, i) => {
    if (shape !== "heads") sizes[i].width = Math.min(most, sizes[i].width + share);
  });
  return { row, sizes, isNarrow, total: around + sizes.reduce((sum, size) => sum + size.width, 0) };
}

/**
 * The cell under a point of a picture.
 *
 * @param {{x: number, y: number}} at - from its upper left corner
 * @param {{width: number, height: number}} size
 * @param {{rows: number, columns: number}} of
 */
export function cellAt({ x, y }, { width, height }, { rows, columns }) {
  const within = (place, length, n) => Math.min(n - 1, Math.max(0, Math.floor((place / length) * n)));
  return { row: within(y, height, rows), column: within(x, width, columns) };
}
