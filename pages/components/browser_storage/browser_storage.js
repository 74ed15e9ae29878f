// Keeps in the browser what a person answered in this tab, and tells a new session what is kept there.
//
// data: {store: its name, parts: what this session has to keep, isRestored: whether Python knows what is kept}.
// Triggers: kept, all that is kept, once a session; again where no answer comes, none where there is nothing.

import { kept, share } from "../kit/storage.js";

const begunEmpty = new Set(); // names under which nothing was kept when this tab looked first: nothing is reported

export default function ({ data, setTriggerValue }) {
  const { store, parts, isRestored } = data;
  if (!Object.keys(kept(store)).length) begunEmpty.add(store);
  return share(store, parts, isRestored || begunEmpty.has(store), (all) => setTriggerValue("kept", all));
}
