// What a reader of a view chooses: the attention, a measure with its order, and how the chosen head is drawn.

import { element } from "../components/kit/elements.js";
import { say } from "../components/kit/say.js";

/**
 * @param {any} header
 * @param {(change: Record<string, string>) => void} onChange - with the names and new values of what changed
 */
export function makeToolbar(header, onChange) {
  const root = element("div", "toolbar");
  const name = element("div", "name", header.title);
  name.dir = "auto";
  root.append(name);
  const attentions = header.groups.map(({ attention, title }) => [attention, title]);
  /** @type {Record<string, any>} */
  const toolbar = { root, header };
  if (attentions.length > 1) toolbar.attention = segmented(root, say("Attention"), attentions, (attention) => onChange({ attention }));
  const controls = element("div", "controls");
  root.append(controls);
  const measures = header.measures.map(({ id, title }) => [id, title]);
  if (measures.length) {
    toolbar.measure = menu(controls, say("Measure"), [["", say("no measure")], ...measures], (measure) => onChange({ measure }));
    const orders = [["", say("by layer")], ["descending", say("descending")], ["ascending", say("ascending")]];
    toolbar.order = menu(controls, say("Order of the heads"), orders, (order) => onChange({ order }));
  }
  toolbar.figure = segmented(controls, say("View"), [["cells", say("Heatmap")], ["lines", say("Lines")]], (figure) => onChange({ figure }));
  return toolbar;
}

export function updateToolbar(toolbar, { chosen, measure, order, figure }) {
  toolbar.attention?.(chosen.attention);
  toolbar.measure?.(measure);
  toolbar.order?.(order, !measure);
  toolbar.figure(figure);
}

function segmented(root, label, options, onChange) {
  const group = element("div", "segmented");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  const buttons = options.map(([value, words]) => {
    const button = element("button", "", words);
    button.type = "button";
    button.addEventListener("click", () => onChange(value));
    group.append(button);
    return button;
  });
  root.append(group);
  return (chosen) => buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(options[place][0] === chosen)));
}

function menu(root, label, options, onChange) {
  const select = element("select", "");
  select.setAttribute("aria-label", label);
  for (const [value, words] of options) {
    const option = element("option", "", words);
    option.value = value;
    select.append(option);
  }
  select.addEventListener("change", () => onChange(select.value));
  root.append(select);
  return (chosen, isDisabled = false) => Object.assign(select, { value: chosen, disabled: isDisabled });
}
