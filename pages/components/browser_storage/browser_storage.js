// Keeps in the browser what a person answered, and tells a new session what is kept there.
//
// data: {store: its name, parts: what this session has to keep, isRestored: whether Python knows what is kept}.
// Triggers: kept, all that is kept, once a session; none where there is nothing.

import { keep, kept } from "../kit/storage.js";

export default function ({ data, setTriggerValue }) {
  const { store, parts, isRestored } = data;
  const before = isRestored ? {} : kept(store);
  if (Object.keys(parts).length) keep(store, parts);
  if (Object.keys(before).length) setTriggerValue("kept", before);
}
