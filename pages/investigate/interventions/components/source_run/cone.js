// The causal cone of a change: where in the model something else may be computed after it.

/**
 * @typedef {object} Step
 * @property {string} mixes - "self": over the stack's positions; "cross": takes the memory; "": neither
 * @property {string[] | null} mask - of "self": a row for each query, with a 1 for each key that it may attend to
 */
/** @typedef {{name: string, steps: Step[]}} Stack - the encoder comes before the decoder */
/** @typedef {{stack: string, step: number, positions: number[]}} Origin */

/**
 * Returns, by stack, after each step: whether each position may have changed.
 *
 * @param {Stack[]} stacks
 * @param {Record<string, number>} lengths - of each stack's text
 * @param {Origin} origin
 */
export function causalCone(stacks, lengths, origin) {
  /** @type {Record<string, boolean[][]>} */
  const cone = {};
  let isMemoryChanged = false;
  for (const { name, steps } of stacks) {
    let changed = Array(lengths[name]).fill(false);
    cone[name] = steps.map(({ mixes, mask }, step) => {
      const isOrigin = origin.stack === name && origin.step === step;
      const sees = (/** @type {number} */ query) => changed.some((isChanged, key) => isChanged && mask?.[query][key] === "1");
      changed = changed.map(
        (isChanged, position) =>
          isChanged ||
          (isOrigin && origin.positions.includes(position)) ||
          (mixes === "self" && sees(position)) ||
          (mixes === "cross" && isMemoryChanged),
      );
      return changed;
    });
    isMemoryChanged = changed.some(Boolean);
  }
  return cone;
}
