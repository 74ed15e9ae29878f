// Shared by the components: what they leave on the page outside their own nodes ends when they leave it.

function leaving(root) {
  // A signal that aborts once the component has left the page; listeners on the window and the document take it.
  return (root.leaving ??= new AbortController()).signal;
}

function cleanUp(root) {
  // What a component returns; Streamlit calls it when the component has left, and when newer data overtook a drawing.
  return () => {
    if (root.isConnected) return;
    root.leaving?.abort();
    root.replaceChildren(); // Streamlit may hold the nodes around it for longer
    root.view = null;
  };
}
