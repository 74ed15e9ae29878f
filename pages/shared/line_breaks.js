// A single-line field holds "↵" for a line break (lines.py): Shift+Enter types it, and pasted text keeps its own.
{
  const holdsText = ({ target }) => {
    const box = target instanceof HTMLInputElement ? target.closest('[data-testid="stElementContainer"]') : null;
    return box !== null && [...box.classList].some((name) => /^st-key-.*-line$/.test(name));
  };
  const insert = (event, text) => {
    event.preventDefault();
    event.stopPropagation();
    document.execCommand("insertText", false, text); // which can be undone, and which React hears of
  };
  const typed = (event) => {
    if (event.key === "Enter" && event.shiftKey && !event.isComposing && holdsText(event)) insert(event, "↵");
  };
  const pasted = (event) => {
    const text = event.clipboardData.getData("text/plain").replace(/\r\n?/g, "\n");
    const written = (_, backslashes, sign) => backslashes.repeat(2) + (sign === "\n" ? "↵" : `\\${sign}`);
    if (text.includes("\n") && holdsText(event)) insert(event, text.replace(/(\\*)([\n↵␍])/g, written));
  };
  addEventListener("keydown", typed, true);
  addEventListener("paste", pasted, true);
}
