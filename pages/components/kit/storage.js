// What the browser keeps from one session to the next: an object for each name, of which each tab adds its own parts.

const AGAIN = 3000; // ms: a message that the server gets while it is about to run again can be lost
const NOTHING = "[]"; // of a part that this tab opened and did not answer
/** @type {Map<string, ReturnType<typeof setTimeout>>} */
const timers = new Map(); // of the next message, by name
/** @type {Map<string, Map<string, string>>} */
const known = new Map(); // by name and part: what this tab read or wrote last, as JSON

/**
 * What is kept under a name; nothing where it is damaged, or where the browser keeps nothing.
 *
 * @param {string} name
 * @returns {Record<string, unknown>}
 */
export function kept(name) {
  try {
    const saved = JSON.parse(localStorage.getItem(name) ?? "{}");
    return saved && typeof saved === "object" && !Array.isArray(saved) ? saved : {};
  } catch {
    return {};
  }
}

/**
 * Keep parts under a name, beside those that are there.
 *
 * @param {string} name
 * @param {Record<string, unknown>} parts
 */
export function keep(name, parts) {
  try {
    localStorage.setItem(name, JSON.stringify({ ...kept(name), ...parts }));
  } catch {
    // without storage they last as long as the session
  }
}

/**
 * Tell the server what is kept until it knows it; from then on keep what this tab changes.
 *
 * @param {string} name
 * @param {Record<string, unknown>} parts of this session
 * @param {boolean} isRestored whether the server knows what is kept
 * @param {(all: Record<string, unknown>) => void} tell
 * @returns {() => void} what ends the telling
 */
export function share(name, parts, isRestored, tell) {
  const stop = () => clearTimeout(timers.get(name));
  const tellAgain = () => {
    tell(read(name));
    timers.set(name, setTimeout(tellAgain, AGAIN));
  };
  stop();
  if (isRestored) keepChanged(name, parts);
  else tellAgain();
  return stop;
}

/** @param {string} name */
function read(name) {
  const saved = kept(name);
  known.set(name, new Map(Object.entries(saved).map(([part, value]) => [part, JSON.stringify(value)])));
  return saved;
}

/**
 * Keep the parts that changed in this tab; what only stands here may have changed in another one meanwhile, and stays.
 *
 * @param {string} name
 * @param {Record<string, unknown>} parts
 */
function keepChanged(name, parts) {
  const [stored, before] = [kept(name), known.get(name) ?? new Map()];
  known.set(name, before);
  const changed = Object.entries(parts).filter(([part, value]) => {
    const now = JSON.stringify(value);
    const isChanged = now !== (before.get(part) ?? (part in stored ? NOTHING : undefined));
    if (isChanged) before.set(part, now);
    return isChanged;
  });
  if (changed.length) keep(name, Object.fromEntries(changed));
}
