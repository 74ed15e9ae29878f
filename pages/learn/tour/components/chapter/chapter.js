// Brings a chapter's beginning into sight when another one is opened, and keeps what was answered in the browser.
//
// data: {name: of the chapter, answers: to its questions, restored: whether Python knows what is kept here}.
// Triggers: kept, all that is kept, {chapter: answers}, once a session; again where no answer comes.

import { share } from "../../../../components/kit/storage.js";

const KEPT = "headlight-tour"; // in the browser's storage
const lastChapter = new WeakMap(); // by the page's scrolling box

export default function ({ data, parentElement, setTriggerValue }) {
  const stop = share(KEPT, { [data.name]: data.answers }, data.restored, (all) => setTriggerValue("kept", all));
  const root = parentElement.getRootNode();
  const page = (root.host ?? parentElement).ownerDocument ?? document;
  const box = page.querySelector('[data-testid="stMain"]');
  if (!box) return stop;
  const before = lastChapter.get(box);
  lastChapter.set(box, data.name);
  if (before !== undefined && before !== data.name) box.scrollTo({ top: 0 });
  return stop;
}
