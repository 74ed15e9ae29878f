// Roving focus: the Tab key comes to one of many things, the arrow keys continue from there, and what has the focus is
// highlighted like what is under the pointer.

/** @typedef {{x: number, y: number}} Point */
/** @typedef {{row: number, column: number}} Cell */

/** @type {Record<string, [down: number, right: number]>} */
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
/** @type {Record<string, [down: number, right: number]>} */
const ENDS = { Home: [0, -Infinity], End: [0, Infinity], PageUp: [-Infinity, 0], PageDown: [Infinity, 0] };
const LINES = { across: ["ArrowLeft", "ArrowRight"], down: ["ArrowUp", "ArrowDown"] };

/**
 * @param {number} place
 * @param {number} n
 */
const within = (place, n) => Math.min(Math.max(place, 0), n - 1);

/**
 * Which item of a line that runs across or down a key leads to; undefined: it is none of the line's keys.
 *
 * @template Item
 * @param {string} key
 * @param {Item} item
 * @param {Item[]} items
 * @param {keyof typeof LINES} [runs]
 * @returns {Item | undefined}
 */
export function inLine(key, item, items, runs = "across") {
  const [back, on] = LINES[runs];
  const place = items.indexOf(item);
  const to = { [back]: place - 1, [on]: place + 1, Home: 0, End: items.length - 1 }[key];
  return to === undefined ? undefined : items[within(to, items.length)];
}

/**
 * Where a key leads in rows of such lengths; undefined: it is none of their keys.
 *
 * @param {string} key
 * @param {Cell} from
 * @param {number[]} lengths
 */
export function inRows(key, { row, column }, lengths) {
  const by = ARROWS[key] ?? ENDS[key];
  if (!by) return undefined;
  const next = within(row + by[0], lengths.length);
  return { row: next, column: within(column + by[1], lengths[next]) };
}

/**
 * Which of some points lies next in a key's direction: straight ahead before nearer, but aside; or none, -1.
 *
 * @param {string} key - one of the arrows
 * @param {Point} from
 * @param {Point[]} points
 */
export function nearest(key, from, points) {
  const [down, right] = ARROWS[key];
  let [found, least] = [-1, Infinity];
  points.forEach(({ x, y }, index) => {
    const [ahead, aside] = right ? [(x - from.x) * right, Math.abs(y - from.y)] : [(y - from.y) * down, Math.abs(x - from.x)];
    const distance = ahead + 3 * aside;
    if (ahead >= 3 && distance < least) [found, least] = [index, distance];
  });
  return found;
}

/**
 * Which of some things that fill lines a key leads to: across in their order, up and down to the nearest.
 *
 * @param {string} key
 * @param {Element} item
 * @param {Element[]} items
 */
export function inLines(key, item, items) {
  if (key !== "ArrowUp" && key !== "ArrowDown") return inLine(key, item, items);
  const points = items.map(middleOf);
  return items[nearest(key, points[items.indexOf(item)], points)] ?? null;
}

/** @param {Element} item */
export function middleOf(item) {
  const { left, top, width, height } = item.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}

/**
 * Makes the focus rove over the things in a box; each comes with a tabindex of -1.
 *
 * @param {Element} box
 * @param {object} how
 * @param {string} how.of - selects the things
 * @param {(key: string, item: any, event: KeyboardEvent) => any} how.next - where a key leads from
 *   an item; null: nowhere; undefined: the key is none of these
 * @param {(item: any) => void} [how.onPoint] - what the pointer is at, else what the keyboard is at, else null
 * @param {(item: any, event: Event) => void} [how.onChoose] - a click, Enter or the space bar
 */
export function rove(box, { of, next, onPoint, onChoose }) {
  /** @type {any} */
  let stop = null;
  const itemAt = (/** @type {EventTarget | null} */ target) => (target instanceof Element ? target.closest(of) : null);
  const focused = () => box.querySelector(`:is(${of}):focus-visible`);
  const setStop = (/** @type {any} */ item) => {
    if (stop) stop.tabIndex = -1;
    stop = item;
    if (stop) stop.tabIndex = 0;
  };
  box.addEventListener("focusin", ({ target }) => {
    if (itemAt(target)) setStop(itemAt(target));
    if (focused()) onPoint?.(focused());
  });
  box.addEventListener("keydown", (event) => {
    if (!(event instanceof KeyboardEvent)) return;
    const item = itemAt(event.target);
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const isPress = onChoose && !(item instanceof HTMLButtonElement) && (event.key === "Enter" || event.key === " ");
    const to = isPress ? null : next(event.key, item, event);
    if (to === undefined) return;
    event.preventDefault();
    if (isPress) onChoose(item, event);
    if (to) goTo(to);
  });
  if (onPoint) {
    box.addEventListener("mouseover", ({ target }) => onPoint(itemAt(target) ?? focused()));
    box.addEventListener("mouseleave", () => onPoint(focused()));
    box.addEventListener("focusout", () => onPoint(null));
  }
  if (onChoose) box.addEventListener("click", (event) => itemAt(event.target) && onChoose(itemAt(event.target), event));
  return {
    get stop() {
      return stop;
    },
    /**
     * Lets the Tab key come to an item, but where the focus is on one: that may have gone on meanwhile.
     *
     * @param {Element | null | undefined} item
     */
    rest(item) {
      const current = box.querySelector(`:is(${of}):focus`);
      setStop(current ?? item ?? null);
    },
  };
}

/**
 * Moves the focus, and what is scrolled around it no further than it must.
 *
 * @param {HTMLElement | SVGElement} item
 */
export function goTo(item) {
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest", inline: "nearest" });
}
