// Takes apart what packing.py packs: whole numbers from 0 to `top` for weights from 0 to 1, compressed.

export const FORBIDDEN = 65535; // a cell that the mask does not allow
export const NOT_FINITE = 65534; // NaN

/**
 * @param {string} text - base64
 */
export function bytesOf(text) {
  const letters = atob(text);
  return Uint8Array.from({ length: letters.length }, (_, place) => letters.charCodeAt(place));
}

/**
 * The numbers of all cells, attention by attention, each [layer, head, query, key].
 *
 * @param {Uint8Array<ArrayBuffer>} packed - the low bytes of all numbers, then the high ones, deflated
 */
export async function decode(packed) {
  const { body } = new Response(packed);
  const stream = /** @type {ReadableStream} */ (body).pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = planes.length / 2;
  const numbers = new Uint16Array(size);
  for (let cell = 0; cell < size; cell++) numbers[cell] = planes[cell] | (planes[size + cell] << 8);
  return numbers;
}

/**
 * One byte per cell, as thumbnails.js paints them.
 *
 * @param {Uint16Array} numbers
 * @param {number} top
 */
export function thumbnailLevels(numbers, top) {
  const levels = new Uint8Array(numbers.length);
  for (let cell = 0; cell < numbers.length; cell++) {
    const number = numbers[cell];
    levels[cell] = number === FORBIDDEN ? 255 : number === NOT_FINITE ? 254 : Math.round((number / top) * 253);
  }
  return levels;
}

/**
 * The mean of some heads' weights, or those of one: NaN where a number is not finite, -1 where all masks forbid the cell.
 *
 * @param {Uint16Array[]} heads - the numbers of each head, of one shape
 * @param {number} top
 */
export function weightsOf(heads, top) {
  return Float32Array.from(heads[0], (_, cell) => {
    let [sum, nForbidden] = [0, 0];
    for (const { [cell]: number } of heads) {
      if (number === FORBIDDEN) nForbidden++;
      else sum += number === NOT_FINITE ? NaN : number / top;
    }
    return nForbidden === heads.length ? -1 : sum / heads.length;
  });
}

/**
 * The strongest cell among queries that may attend to two keys or more, else among all.
 *
 * @param {Uint16Array} numbers - of one head
 * @param {number} nKeys
 * @returns {{query: number, key: number, number: number}}
 */
export function strongestCell(numbers, nKeys) {
  const best = { query: 0, key: 0, number: -1, hasChoice: false };
  for (let start = 0, query = 0; start < numbers.length; start += nKeys, query++) {
    let [nAllowed, key, most] = [0, 0, -1];
    for (let place = 0; place < nKeys; place++) {
      const number = numbers[start + place];
      if (number === FORBIDDEN) continue;
      nAllowed++;
      if (number !== NOT_FINITE && number > most) [key, most] = [place, number];
    }
    const hasChoice = nAllowed > 1;
    if (hasChoice < best.hasChoice || (hasChoice === best.hasChoice && most <= best.number)) continue;
    Object.assign(best, { query, key, number: most, hasChoice });
  }
  return best;
}
