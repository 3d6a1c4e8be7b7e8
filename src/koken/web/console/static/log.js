// The log of a run: what comes is added at its end, long lines are wrapped or not.
// Without it the page shows the last lines, and leads to older ones.
"use strict";

(() => {
  const MOST = 5000;
  const read = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const keep = (key, value) => { try { localStorage.setItem(key, value); } catch { /* it holds for this page alone */ } };
  let source = null, retry = 0, seen = "", first = true, follow = true, wrap = read("koken-wrap") !== "no";

  const log = () => document.getElementById("log");
  const end = () => { const at = log(); if (at) at.scrollTop = at.scrollHeight; };
  const paint = () => {
    const at = log(), wrapper = document.getElementById("log-wrap"), follower = document.getElementById("log-follow");
    at?.classList.toggle("nowrap", !wrap);
    if (wrapper) { wrapper.hidden = !at; wrapper.setAttribute("aria-pressed", String(wrap)); wrapper.textContent = wrap ? "Do not wrap" : "Wrap"; }
    if (follower) { follower.hidden = !source; follower.setAttribute("aria-pressed", String(follow)); follower.textContent = follow ? "Stop following" : "Follow"; }
  };
  const tell = (text) => {
    const at = document.getElementById("log-state");
    if (at) { at.textContent = text; at.hidden = text === ""; }
  };
  const add = (html) => {
    const at = log();
    if (!at) return;
    const last = at.querySelector(".line:last-of-type");
    const newest = last ? BigInt(last.id.slice(1)) : 0n;
    const rows = document.createRange().createContextualFragment(html);
    for (const row of rows.querySelectorAll(".line")) if (BigInt(row.id.slice(1)) <= newest && document.getElementById(row.id)) row.remove();
    // An attempt that the page tells already has not begun anew.
    for (const part of rows.querySelectorAll(".log-part")) {
      const told = [...at.querySelectorAll(`.log-part[data-run="${part.dataset.run}"]`)].pop();
      if (told?.textContent === part.textContent) part.remove();
    }
    at.append(rows);
    while (at.childElementCount > MOST) at.firstElementChild.remove();
    at.parentElement.querySelector(".log + .empty")?.remove();
    if (follow) end();
  };
  const hush = () => { clearTimeout(retry); source?.close(); source = null; };
  // From where the last connection was, for one that is opened anew knows nothing of it.
  const place = (url) => {
    const whole = new URL(url, location.href);
    if (seen) whole.searchParams.set("seen", seen);
    return whole.href;
  };
  const listen = () => {
    const url = log()?.dataset.live;
    if (!url) { hush(); return; }
    if (source || document.hidden) return;
    clearTimeout(retry);
    source = new EventSource(place(url));
    source.addEventListener("open", () => tell(""));
    source.addEventListener("error", () => {       // after 429 or 503 the browser itself gives up
      tell("The connection is lost; new lines come when it is back.");
      if (source?.readyState === EventSource.CLOSED) { hush(); retry = setTimeout(listen, 5000); }
    });
    source.addEventListener("lines", (event) => { seen = event.lastEventId; add(event.data); });
    source.addEventListener("over", () => { hush(); log()?.removeAttribute("data-live"); paint(); });
  };
  const ready = () => {
    listen();
    paint();
    const marked = location.hash.startsWith("#L") && document.getElementById(location.hash.slice(1));
    if (!marked && follow && (source || (first && log()?.hasAttribute("data-end")))) end();
    first = false;
  };

  document.addEventListener("click", (event) => {
    if (event.target.id === "log-wrap") { wrap = !wrap; keep("koken-wrap", wrap ? "yes" : "no"); paint(); }
    else if (event.target.id === "log-follow") { follow = !follow; paint(); if (follow) end(); }
    else if (event.target.matches(".line .at")) {
      event.preventDefault();
      history.replaceState(null, "", event.target.getAttribute("href"));
      for (const each of document.querySelectorAll(".line.marked")) each.classList.remove("marked");
      event.target.closest(".line").classList.add("marked");
      navigator.clipboard?.writeText(location.href).catch(() => {});
    }
  });
  document.addEventListener("scroll", (event) => {
    if (event.target.id !== "log" || !source) return;
    const at = event.target, bottom = at.scrollHeight - at.scrollTop - at.clientHeight < 40;
    if (bottom !== follow) { follow = bottom; paint(); }
  }, true);
  document.addEventListener("htmx:after:swap", ready);
  document.addEventListener("visibilitychange", () => { if (document.hidden) hush(); else listen(); paint(); });
  window.addEventListener("pagehide", hush);
  window.addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
  ready();
})();
