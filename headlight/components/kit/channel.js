// What components of one page tell each other, without the server.

/** @template T */
class Channel {
  /** @type {Set<(value: T) => void>} */
  #listeners = new Set();

  /** @param {T} value */
  send(value) {
    for (const listener of [...this.#listeners]) listener(value);
  }

  /**
   * @param {(value: T) => void} listener
   * @param {AbortSignal} signal - it ends the listening
   */
  listen(listener, signal) {
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#listeners.delete(listener));
  }
}

/**
 * A head that was clicked in the overview, or shown by the player: its pattern as one byte a cell, row by row.
 *
 * @type {Channel<{attention: string, layer: number, head: number, rows: number, columns: number, levels: Uint8Array,
 *   step?: number}>}
 */
export const shownHead = new Channel();

/** @type {Channel<number>} the number of tokens of the selected decoding step */
export const shownStep = new Channel();

/** @type {Channel<string>} the id of a film whose pictures came */
export const film = new Channel();
