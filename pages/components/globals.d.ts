// What scripts outside our modules put on the page.

declare const Plotly: any; // plotly.js, which the server's page loads

interface Window {
  Plotly?: any;
}
