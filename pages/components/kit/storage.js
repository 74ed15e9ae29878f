// What the browser keeps from one session to the next: an object for each name, of which each tab adds its own parts.

/**
 * What is kept under a name; nothing where it is damaged, or where the browser keeps nothing.
 *
 * @param {string} name
 * @returns {Record<string, unknown>}
 */
export function kept(name) {
  try {
    const found = JSON.parse(localStorage.getItem(name) ?? "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

/**
 * Keep some parts beside those that are kept already, which may be of another tab.
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
