// One act of a person is one step of the browser's history. Each run of a page writes its view to the address, and
// Streamlit makes a step of that: also of what nobody did, as when an address is completed. Back would lead to the short
// address, which is completed again, and never further. So what follows no act takes the place of the step that is
// there; and what follows Back or Forward is left out: it may come from a run of the page that was left.
{
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  let hasActed = false;
  let hasWalked = false;
  const act = (event) => {
    // A click that has a number follows a pointer that was counted; one without is of a key, or of a reading aid.
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
  // Streamlit writes an address so from a walk on, until the run that follows it has ended.
  history.replaceState = (...step) => {
    if (!hasWalked) replace(...step);
  };
}
