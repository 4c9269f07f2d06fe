// What the pages do beyond showing: moments in the reader's own zone, a page that follows what it
// shows, texts to copy. Each page is whole without it.

/** @param {ParentNode} within */
function tellMoments(within) {
  const words = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const time of within.querySelectorAll("time[data-moment]")) {
    const at = new Date(time.getAttribute("datetime") ?? "");
    if (Number.isNaN(at.getTime())) continue;
    time.setAttribute("title", time.textContent ?? "");
    time.textContent = words.format(at);
  }
}

/** Puts what has changed in place of what stood there, and leaves the reader where they are. */
async function follow() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of ["live", "waiting"]) {
    const [here, there] = [document.getElementById(id), page.getElementById(id)];
    if (id === "waiting" && !here && there) {
      document.querySelector('a[href="/approvals"]')?.append(" ", there);
    } else if (here && !there) {
      here.remove();
    } else if (here && there && here.innerHTML !== there.innerHTML) {
      const focused = document.activeElement;
      const keep = focused instanceof HTMLElement && here.contains(focused) ? focused.id : "";
      const open = new Set([...here.querySelectorAll("details[open][id]")].map(({ id }) => id));
      tellMoments(there);
      here.replaceWith(there);
      for (const id of open) document.getElementById(id)?.setAttribute("open", "");
      if (keep) document.getElementById(keep)?.focus({ preventScroll: true });
    }
  }
  const live = page.body.dataset.live;
  if (!live) delete document.body.dataset.live;
}

function listen() {
  const place = document.body.dataset.live;
  if (!place) return;
  const events = new EventSource(place);
  /** @type {Promise<void> | undefined} */
  let following;
  let again = false;
  events.addEventListener("changed", () => {
    again = true;
    following ??= (async () => {
      try {
        while (again) {
          again = false;
          await follow();
          if (!document.body.dataset.live) events.close();
        }
      } catch {
        // The next change tries again; the page stands as it was.
      } finally {
        following = undefined;
      }
    })();
  });
}

for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => {
    const piece = event.target instanceof Element ? event.target.closest("[data-says]") : null;
    const said = document.getElementById("piece-said");
    if (piece && said) said.textContent = piece.getAttribute("data-says");
  });
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-copy]") : null;
  const text = document.getElementById(button?.getAttribute("data-copy") ?? "")?.textContent;
  if (!button || typeof text !== "string") return;
  void navigator.clipboard.writeText(text).then(() => {
    const said = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = said), 1500);
  });
});

tellMoments(document);
listen();
