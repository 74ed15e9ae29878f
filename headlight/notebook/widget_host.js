// Shows a view as a widget of a notebook; its trait `chosen` is the chosen head.

import { choose, showAttention } from "./attention_view.js";

/** @param {{model: any, el: HTMLElement}} widget - as anywidget hands it over */
export async function render({ model, el }) {
  const gone = new AbortController();
  const packed = model.get("packed"); // a DataView
  const bytes = new Uint8Array(packed.buffer.slice(packed.byteOffset, packed.byteOffset + packed.byteLength));
  const place = document.createElement("div");
  el.append(place);
  const view = await showAttention(place, { header: model.get("header"), packed: bytes }, {
    signal: gone.signal,
    onChosen: (chosen) => {
      model.set("chosen", chosen);
      model.save_changes();
    },
  });
  const follow = () => choose(view, model.get("chosen"));
  model.on("change:chosen", follow);
  return () => {
    model.off("change:chosen", follow);
    gone.abort();
  };
}
