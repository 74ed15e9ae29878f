// Brings a chapter's beginning into sight when another one is opened, and keeps what was answered in the browser.
//
// data: {name: of the chapter, answers: to its questions, restored: whether Python knows what is kept here}.
// Triggers: kept, all that is kept, {chapter: answers}, once a session; again where no answer comes.

import { keep, kept } from "../../../../components/kit/storage.js";

const KEPT = "headlight-tour"; // in the browser's storage
const AGAIN = 3000; // ms: a message that the server gets while it is about to run again can be lost
let asking; // the timer of the next message
const lastChapter = new WeakMap(); // by the page's scrolling box
const known = new Map(); // by chapter: the answers that this tab read or wrote last, as JSON

function keepAnswers(name, answers) {
  // What was only looked at here may have been answered in another tab meanwhile: it stays as it is.
  const now = JSON.stringify(answers);
  if (now === (known.get(name) ?? (name in kept(KEPT) ? "[]" : undefined))) return;
  known.set(name, now);
  keep(KEPT, { [name]: answers });
}

function read() {
  const found = kept(KEPT);
  known.clear();
  for (const [name, answers] of Object.entries(found)) known.set(name, JSON.stringify(answers));
  return found;
}

export default function ({ data, parentElement, setTriggerValue }) {
  clearTimeout(asking);
  const tell = () => {
    setTriggerValue("kept", read());
    asking = setTimeout(tell, AGAIN);
  };
  const stop = () => clearTimeout(asking);
  if (data.restored) keepAnswers(data.name, data.answers);
  else tell();
  const root = parentElement.getRootNode();
  const page = (root.host ?? parentElement).ownerDocument ?? document;
  const box = page.querySelector('[data-testid="stMain"]');
  if (!box) return stop;
  const before = lastChapter.get(box);
  lastChapter.set(box, data.name);
  if (before !== undefined && before !== data.name) box.scrollTo({ top: 0 });
  return stop;
}
