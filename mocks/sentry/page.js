// The page at /__mocks: what a person wants to know of the envelopes that came, newest first.

/** @param {unknown} text */
function escape(text) {
  return String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * @param {string} token
 * @param {string[]} tokens
 * @param {any[]} requests
 * @returns {string}
 */
export function page(token, tokens, requests) {
  const links = tokens.map(
    (other) => `<a href="/__mocks?token=${encodeURIComponent(other)}">${escape(other)}</a>`,
  );
  const rows = [...requests].reverse().map(row).join("");
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Sentry mock: ${escape(token)}</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color-scheme: light dark; }
  article { border: 1px solid #8886; border-radius: 6px; margin: 1rem 0; padding: .5rem 1rem; }
  h2 { font-size: 1rem; margin: .25rem 0; }
  pre { max-height: 20rem; overflow: auto; white-space: pre-wrap; word-break: break-word; }
  .muted { opacity: .7; }
</style>
<h1>What came for <code>${escape(token)}</code></h1>
<p class="muted">Tokens: ${links.join(" · ") || "none yet"} ·
  <a href="/__mocks.json?token=${encodeURIComponent(token)}">JSON</a></p>
<form method="post" action="/__mocks?token=${encodeURIComponent(token)}"><button>Clear</button></form>
${rows || "<p>Nothing yet.</p>"}
</html>`;
}

/** @param {any} request */
function row(request) {
  const items = request.items.map(
    /** @param {any} item */ ({
      header,
      bytes,
      json,
    }) => `<h2>${escape(header.type)} <span class="muted">${bytes} bytes</span></h2>
    <p>${escape(title(json))}</p>
    <details><summary>payload</summary><pre>${escape(JSON.stringify(json ?? header, null, 2))}</pre></details>`,
  );
  return `<article>
  <p class="muted">${escape(request.at)} · ${escape(request.path)} · ${request.bytes} bytes · answered ${request.status}
    ${request.problem ? `· ${escape(request.problem)}` : ""}</p>
  ${items.join("") || "<p>No items.</p>"}
</article>`;
}

/** @param {any} json */
function title(json) {
  const last = json?.exception?.values?.at(-1);
  if (last !== undefined) return `${last.type ?? ""}: ${last.value ?? ""}`;
  const message = json?.logentry?.formatted ?? json?.logentry?.message ?? json?.message;
  return typeof message === "string" ? message : "";
}
