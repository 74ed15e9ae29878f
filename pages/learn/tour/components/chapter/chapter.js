// Brings a chapter's beginning into sight when another one is opened, and keeps what was answered in the browser.
//
// data: {name: of the chapter, answers: to its questions, restored: whether Python knows what is kept here}.
// Triggers: kept, all that is kept, {chapter: answers}, once a session.

const KEPT = "headlight-tour"; // in the browser's storage
const lastChapter = new WeakMap(); // by the page's scrolling box

function kept() {
  try {
    const found = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {}; // damaged, or a browser that keeps nothing
  }
}

function keep(name, answers) {
  try {
    localStorage.setItem(KEPT, JSON.stringify({ ...kept(), [name]: answers })); // others may be of another tab
  } catch {
    // without storage the answers last as long as the session
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  if (data.restored) keep(data.name, data.answers);
  else setTriggerValue("kept", kept());
  const root = parentElement.getRootNode();
  const page = (root.host ?? parentElement).ownerDocument ?? document;
  const box = page.querySelector('[data-testid="stMain"]');
  if (!box) return;
  const before = lastChapter.get(box);
  lastChapter.set(box, data.name);
  if (before !== undefined && before !== data.name) box.scrollTo({ top: 0 });
}
