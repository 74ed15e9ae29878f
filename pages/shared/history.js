// One user action is one entry of the browser's history. Each run of a page writes its view to the address, and
// Streamlit adds an entry for it, even without an action, as when an address is completed. Back would then lead to the
// short address, which is completed again, and never further. So a write without an action replaces the current
// entry, and one after Back or Forward is dropped, since it may come from a run of the page that was left.
{
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  let hasActed = false;
  let hasWalked = false;
  const act = (event) => {
    // A click with a nonzero detail follows a counted pointer event; others come from keys or assistive software.
    if (!event.isTrusted || (event.type === "click" && event.detail)) return;
    hasActed = true;
    hasWalked = false;
  };
  const walk = () => {
    hasActed = false;
    hasWalked = true;
  };
  for (const kind of ["pointerdown", "click", "keydown", "input"]) addEventListener(kind, act, true);
  addEventListener("popstate", walk, true);
  history.pushState = (...step) => {
    if (hasActed) push(...step);
    else if (!hasWalked) replace(...step);
    hasActed = false;
  };
  // After a navigation, Streamlit writes addresses this way until the run that follows it has ended.
  history.replaceState = (...step) => {
    if (!hasWalked) replace(...step);
  };
}
