// The page at /__mocks: what a stand-in holds and what it was asked, as HTML without script.

/** @type {Record<string, string>} */
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/**
 * @param {unknown} text
 * @returns {string}
 */
export function escape(text) {
  return String(text).replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}

const STYLE =
  "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}" +
  "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2rem .6rem;border-bottom:1px solid #8884}" +
  "pre{overflow:auto;max-height:30rem;background:#8882;padding:.6rem}";

/**
 * @param {import("./mock.mjs").Mock} mock
 * @returns {Response}
 */
export function page(mock) {
  const counters = Object.entries(mock.counters());
  const rows = mock.log
    .slice(-100)
    .reverse()
    .map(
      (entry) =>
        `<tr><td><a href="/__mocks/messages/${entry.id}">${entry.id}</a><td>${escape(entry.method)}` +
        `<td><code>${escape(entry.path)}</code><td>${entry.status}${entry.fault ? " (injected)" : ""}` +
        `<td>${entry.changed ? "changed" : ""}${entry.known ? "" : " unknown"}`,
    );
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escape(mock.name)} (stand-in)</title>
<style>${STYLE}</style>
<h1>${escape(mock.name)}, a stand-in</h1>
<p>${counters.map(([name, count]) => `${escape(name)}: <strong>${count}</strong>`).join(" · ")}</p>
<p>As JSON: <a href="/__mocks/meta">meta</a>, <a href="/__mocks/messages">messages</a>, <a href="/__mocks/state">state</a>.
<code>POST /__mocks/clear</code> forgets everything, <code>POST /__mocks/faults</code> injects failures.</p>
<h2>Endpoints</h2><ul>${mock.endpoints.map((endpoint) => `<li><code>${escape(endpoint)}</code>`).join("")}</ul>
<h2>The last requests</h2><table><tr><th>#<th>Method<th>Path<th>Status<th>State</tr>${rows.join("")}</table>
<h2>State</h2><pre>${escape(JSON.stringify(mock.snapshot(), null, 2))}</pre></html>`;
  return new Response(html, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      "cache-control": "no-store",
    },
  });
}
