// A value that a person changes here and Python changes elsewhere on the page; shared_value.py is its other half.
//
// Both sides write {revision, value}. Each change counts on from the highest revision that is known there,
// so what Python says is old where a person has done something since.

/**
 * @template Value
 * @typedef {{revision: number, value: Value}} Revised
 */

/** @template Value */
export class SharedValue {
  #revision = -Infinity;
  #isTouched = false;
  #send;

  /** @param {(message: Revised<Value>) => void} send */
  constructor(send) {
    this.#send = send;
  }

  /** Whether a person has begun to change the value, and Python was not told yet. */
  get isTouched() {
    return this.#isTouched;
  }

  /** A person begins to change the value, or continues with it. */
  touch() {
    if (!this.#isTouched) this.#revision += 1;
    this.#isTouched = true;
  }

  /**
   * A person has changed the value.
   *
   * @param {Value} value
   */
  tell(value) {
    this.touch();
    this.#isTouched = false;
    this.#send({ revision: this.#revision, value });
  }

  /**
   * Returns whether what Python says holds: nobody has changed the value here since.
   *
   * @param {Revised<Value>} message
   */
  hear({ revision }) {
    if (revision < this.#revision) return false;
    this.#revision = revision;
    this.#isTouched = false;
    return true;
  }
}
