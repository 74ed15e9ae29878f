// Fetches plotly.js once the first component is drawn: pages with charts will need it, and this one does not.
{
  const seen = new MutationObserver(() => {
    if (!document.querySelector("[data-drawn]")) return;
    seen.disconnect();
    const link = document.createElement("link");
    document.head.append(Object.assign(link, { rel: "prefetch", as: "script", href: "/vendor/plotly.min.js" }));
  });
  seen.observe(document, { subtree: true, childList: true, attributeFilter: ["data-drawn"] });
}
