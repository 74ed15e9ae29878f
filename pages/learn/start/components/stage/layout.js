// How large everything on the stage is: pure arithmetic, in CSS pixels.

export const NARROW = 720; // the width of a lane below which tokens stand without their ids
export const GAP = 8; // between panels, where the arrow is
export const MAP_GAP = 3; // between the maps of heads
const NAMED = 44; // the least width that maps take, for their name
const SMALL = 54; // the height of a map from which the panels that can be left out have room, too
const FRAME = 12; // what the frame of a block adds to the width
const EDGES = 10; // of a strip
const ROW = { overview: [10, 22], block: [12, 24], attention: [14, 26] }; // least and most height
const VECTOR = { overview: [42, 58], block: [36, 110], attention: [44, 140] }; // least and most width
const SMALLEST = 24; // the height of a map where the lane would be too wide otherwise
const MAP = { overview: 34, block: 64, attention: 96 }; // the height of a head's map from which a column is enough

/**
 * The width of a list of tokens, at the left of a lane and where rows are of another side.
 *
 * @param {number} width - of the lane
 */
export function tokensWidth(width) {
  return width < NARROW ? 68 : 92;
}

/**
 * The height of a token's row.
 *
 * @param {string} level
 * @param {number} n - rows
 * @param {number} height - that the lane has
 */
export function rowHeight(level, n, height) {
  const [least, most] = ROW[level];
  return Math.max(least, Math.min(most, Math.floor(height / n)));
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
 * @param {number} [of.least] - height of a map
 */
export function mapsOf({ level, nHeads, nQueries, nKeys, height, scale = 1, least = MAP[level] }) {
  let columns = level === "attention" ? Math.ceil(Math.sqrt(nHeads)) : 1;
  const side = (n) => {
    const rows = Math.ceil(nHeads / n);
    return (height - (rows - 1) * MAP_GAP) / rows;
  };
  while (columns < nHeads && side(columns) < least) columns += 1;
  const whole = side(columns);
  const mapHeight = Math.floor(Math.min(whole, Math.max(whole * scale, least)));
  const mapWidth = Math.max(8, Math.round((mapHeight * nKeys) / nQueries));
  return { columns, mapHeight, mapWidth, width: Math.max(NAMED, columns * mapWidth + (columns - 1) * MAP_GAP) };
}

/**
 * The sizes of a lane's panels.
 *
 * @param {object} lane
 * @param {{shape: string, size: number[], rows: string, columns: string, group: string}[]} lane.panels
 * @param {object} room
 * @param {string} room.level
 * @param {number} room.width
 * @param {number} room.height
 * @param {Record<string, number>} room.counts - of the tokens of each side
 * @param {number} [room.leastMap] - height of a head's map
 */
export function measure({ panels }, { level, width, height, counts, leastMap }) {
  const row = rowHeight(level, Math.max(...panels.map(({ rows }) => counts[rows])), height);
  const [least, most] = VECTOR[level];
  const groups = new Set(panels.map(({ group }) => group).filter(Boolean));
  const nLists = panels.filter(({ rows }, i) => rows !== panels[i - 1]?.rows).length;
  const around = GAP * (panels.length + nLists - 1) + FRAME * groups.size + tokensWidth(width) * nLists + EDGES;
  const maps = panels.filter(({ shape }) => shape === "heads");
  const mapOf = (panel, scale = 1) => {
    const [nHeads, nQueries, nKeys] = panel.size;
    return mapsOf({ level, nHeads, nQueries, nKeys, height: row * nQueries, scale, least: leastMap });
  };
  const ofMaps = maps.reduce((sum, panel) => sum + mapOf(panel).width, 0);
  const nVectors = panels.length - maps.length;
  const scale = Math.min(1, (width - around - nVectors * least) / Math.max(ofMaps, 1));
  const sizes = panels.map((panel) => ({
    height: row * counts[panel.rows],
    ...(panel.shape === "heads" ? mapOf(panel, scale) : { width: 0 }),
  }));
  const taken = around + sizes.reduce((sum, size) => sum + size.width, 0);
  const share = Math.floor(Math.max(least, Math.min(most, (width - taken) / Math.max(nVectors, 1))));
  for (const size of sizes) size.width ||= share;
  return { row, sizes, scale, total: taken + share * nVectors };
}

/**
 * The panels of a lane that have room, and their sizes: of a deep model the hidden units stay for the block's own level,
 * and maps are smaller where the lane fits its room then.
 *
 * @param {{panels: any[]}} lane
 * @param {Parameters<typeof measure>[1]} room
 */
export function fitted(lane, room) {
  const fit = (panels) => {
    const usual = { panels, ...measure({ panels }, room) };
    const smaller = { panels, ...measure({ panels }, { ...room, leastMap: SMALLEST }) };
    return usual.total > room.width && smaller.total <= room.width ? smaller : usual;
  };
  const whole = fit(lane.panels);
  const isEasy = whole.scale >= 1 || whole.sizes.every((size) => !("mapHeight" in size) || size.mapHeight >= SMALL);
  return isEasy || room.level !== "overview" ? whole : fit(lane.panels.filter(({ isOptional }) => !isOptional));
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
