// The round buttons of a player, which go along something: to the beginning, back, play or pause, forward, to the end.

import { element, svg } from "./elements.js";
import { say } from "./say.js";

/** @typedef {"begin" | "back" | "play" | "pause" | "forward" | "end"} Name */

/** @type {Record<Name, string>} */
const DRAWN = {
  begin: "M4 3v10M12 3 7 8l5 5",
  back: "M10 3 5 8l5 5",
  play: "M5 3l8 5-8 5z",
  pause: "M5 3h2v10H5zM9 3h2v10H9z",
  forward: "M6 3l5 5-5 5",
  end: "M12 3v10M4 3l5 5-5 5",
};

/**
 * Gives back the group, in which more can stand, and its buttons.
 *
 * @template {Name} Which
 * @param {string} label
 * @param {Record<Which, [string, () => void]>} buttons - of each the title, with its key, and what it does
 * @returns {[HTMLElement, Record<Which, HTMLButtonElement>]}
 */
export function makePlayButtons(label, buttons) {
  const group = element("div", "player");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  const controls = /** @type {Record<Which, HTMLButtonElement>} */ ({});
  for (const name of /** @type {Which[]} */ (Object.keys(buttons))) {
    const [title, onClick] = buttons[name];
    const button = element("button", name);
    button.type = "button";
    const icon = svg("svg", { viewBox: "0 0 16 16" });
    icon.append(svg("path"));
    button.append(icon);
    button.addEventListener("click", onClick);
    controls[name] = button;
    nameButton(button, name, title);
  }
  group.append(.../** @type {HTMLButtonElement[]} */ (Object.values(controls)));
  return [group, controls];
}

/**
 * @param {HTMLButtonElement} button
 * @param {Name} icon
 * @param {string} title
 */
export function nameButton(button, icon, title) {
  button.title = title;
  button.setAttribute("aria-label", title.replace(/ \(.*/, ""));
  button.querySelector("path")?.setAttribute("d", DRAWN[icon]);
}

/**
 * @param {HTMLButtonElement} button
 * @param {boolean} isPlaying
 * @param {boolean} isOver
 */
export function showPlaying(button, isPlaying, isOver) {
  const play = isOver ? say("Play again (space)") : say("Play (space)");
  nameButton(button, isPlaying ? "pause" : "play", isPlaying ? say("Pause (space)") : play);
}

/**
 * Not by the attribute of that name: a button that has the focus keeps it.
 *
 * @param {HTMLButtonElement} button
 * @param {boolean} is
 */
export function setDisabled(button, is) {
  if (button.getAttribute("aria-disabled") !== String(is)) button.setAttribute("aria-disabled", String(is));
}
