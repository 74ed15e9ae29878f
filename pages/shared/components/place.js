// Shared by the components: what keeps a place free for them on the page (waiting.css) hears that they fill it now.

function fillsItsPlace(root) {
  const place = root.getRootNode().host?.closest('[data-testid="stElementContainer"]');
  if (place) place.dataset.drawn = "";
}
