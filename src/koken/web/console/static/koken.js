// What pages do beyond HTML: live refreshes, keys, times that stay true, the zone, completion.
// Everything works without it; it only saves clicks and reloads.
"use strict";

(() => {
  // --- Times: "12 min ago" stays true; UTC or the reader's own zone -------------------------------

  const roughly = (seconds) => {
    for (const [unit, size, until] of [["s", 1, 100], ["min", 60, 5400], ["h", 3600, 172800]]) {
      if (seconds < until) return `${Math.round(seconds / size)} ${unit}`;
    }
    return `${Math.round(seconds / 86400)} d`;
  };
  const tick = () => {
    for (const each of document.querySelectorAll("time[data-ago], time[data-so-long]")) {
      const length = (Date.now() - Date.parse(each.dateTime)) / 1000;
      const told = "soLong" in each.dataset ? `for ${length < 1 ? "a moment" : roughly(length)}`
        : Math.abs(length) < 1 ? "just now" : length > 0 ? `${roughly(length)} ago` : `in ${roughly(-length)}`;
      if (each.textContent !== told) each.textContent = told;
    }
  };
  setInterval(tick, 5000);

  // --- Lengths: what goes on counts on, in the words of model/duration ----------------------------

  const inWords = (length) => {
    if (length < 1) return `${Math.round(length * 1000)} ms`;
    if (length < 60) return `${length.toFixed(length < 10 ? 1 : 0)} s`;
    const minutes = Math.round(length / 60), hours = Math.round(length / 3600);
    if (minutes < 60) return `${minutes} min`;
    if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
    return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  };
  const count = () => {
    for (const each of document.querySelectorAll("time[data-since]")) {
      const told = inWords(Math.max((Date.now() - Date.parse(each.dateTime)) / 1000, 0));
      if (each.textContent !== told) each.textContent = told;
    }
  };
  setInterval(() => { if (!paused && away === null) count(); }, 1000);

  const own = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  const cookie = (document.cookie.match(/(?:^|; )koken_zone=([^;]*)/) || [])[1];
  const setZone = (zone) => { document.cookie = `koken_zone=${zone}; path=/; max-age=31536000; samesite=lax`; };
  const zone = document.getElementById("zone");
  if (cookie === undefined) {
    setZone(own);
    // A form that is to be filled in asks for times: it comes anew, in the reader's own zone.
    const kept = document.cookie.includes("koken_zone=");
    if (kept && own !== "UTC" && document.querySelector("form.start")) location.reload();
  }
  if (zone && own !== "UTC") {
    zone.hidden = false;
    zone.addEventListener("click", () => {
      setZone(zone.textContent.trim() === "UTC" ? own : "UTC");
      location.reload();
    });
  }

  // --- Live: a word that something has changed refreshes the page in place ------------------------

  const mark = document.getElementById("live-mark");
  const pause = document.getElementById("live-pause");
  const PATIENCE = 10000;   // milliseconds without a connection until it is called lost
  let topic = "";           // what this page is about; "" when it does not change
  let seen = "";            // how the topic stands in what is shown, or is being fetched
  let ended = "";           // a topic that does not change any more
  let source = null, retry = 0, away = null, patience = 0;
  let paused = false, refreshing = false, again = false;
  let late = false;         // a page came for somebody who had meanwhile begun to do something

  const page = () => document.getElementById("main");
  const busy = () => {
    const at = document.activeElement;
    return document.querySelector("main details.action[open], main form[data-touched], dialog[open]") !== null
      || (at && page().contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
  };
  const show = () => {
    const open = source !== null && source.readyState === EventSource.OPEN;
    const lost = away !== null && Date.now() - away >= PATIENCE;
    const [word, look] = lost ? [`lost since ${new Date(away).toLocaleTimeString()}`, "lost"]
      : away !== null ? ["reconnecting", "lagging"]
      : paused ? ["paused", "paused"]
      : open ? ["live", "live"] : ["connecting", "lagging"];
    mark.hidden = pause.hidden = topic === "";
    if (mark.textContent !== word) mark.textContent = word;
    mark.className = `live-mark ${look}`;
    pause.textContent = paused ? "Go on" : "Pause";
    pause.setAttribute("aria-pressed", String(paused));
    document.body.classList.toggle("lost", topic !== "" && lost);
  };
  const refresh = async () => {
    again = true;
    if (paused || refreshing || away !== null || document.hidden || busy()) return;
    refreshing = true; again = false;
    let came = false;
    const whole = async (...asked) => {      // an error or a sign-in page never takes the page's place
      const answer = await fetch(...asked);
      came = answer.ok && !answer.redirected;
      if (!came) throw new Error(`the page did not come: ${answer.status}`);
      return answer;
    };
    await htmx.ajax("GET", location.pathname + location.search, {
      target: "#main", select: "#main", swap: "outerMorph", push: "false", fetch: whole,
    });
    if (came && !late) attend(); else again = true;
    late = false;
    setTimeout(() => { refreshing = false; if (again) refresh(); }, came ? 1000 : 5000);
  };
  const hush = () => {
    clearTimeout(retry); clearTimeout(patience);
    if (source) source.close();
    source = null; away = null;
  };
  const listen = () => {
    clearTimeout(retry);
    if (source) source.close();
    source = new EventSource(`/live?topic=${encodeURIComponent(topic)}&seen=${encodeURIComponent(seen)}`);
    source.addEventListener("open", () => { clearTimeout(patience); away = null; show(); if (again) refresh(); });
    source.addEventListener("changed", (event) => { seen = event.lastEventId; refresh(); });
    source.addEventListener("over", () => { hush(); ended = topic; topic = ""; show(); });
    source.addEventListener("error", () => {
      if (away === null) { away = Date.now(); patience = setTimeout(show, PATIENCE); }
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(listen, 5000);
      show();
    });
    show();
  };
  // Which topic the page has now: at first, after a refresh, and after a way back.
  const attend = () => {
    const { live = "", liveSeen = "" } = page().dataset;
    if (live === topic || (live && live === ended)) return;
    hush();
    topic = live; seen = liveSeen;
    if (topic && !document.hidden) listen();
    show();
  };
  const toggle = () => {
    if (!topic) return;
    paused = !paused;
    show();
    if (!paused && again) refresh();
  };
  if (window.EventSource) {
    pause.addEventListener("click", toggle);
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) hush();
      else if (topic) { listen(); if (again) refresh(); }
      show();
    });
    window.addEventListener("pagehide", hush);
    window.addEventListener("pageshow", (event) => { if (event.persisted && topic) listen(); });
    document.addEventListener("htmx:after:settle", attend);
    attend();
  }
  document.addEventListener("input", (event) => { if (event.target.form) event.target.form.dataset.touched = ""; });
  for (const each of ["toggle", "focusout", "close"]) {
    document.addEventListener(each, () => setTimeout(() => { if (again && !busy()) refresh(); }), true);
  }
  document.addEventListener("htmx:before:swap", (event) => {
    if (!refreshing || event.detail.ctx.target !== page() || !busy()) return;
    late = true;
    event.preventDefault();
  });
  // What the reader has opened or chosen is theirs: the page that comes says nothing of it.
  document.addEventListener("htmx:before:morph:attr", (event) => {
    const kept = { open: "details, dialog", "aria-selected": "tr", "data-touched": "form" }[event.detail.attrName];
    if (kept && event.target.matches(kept)) event.preventDefault();
  });

  // --- Keys ---------------------------------------------------------------------------------------

  let waiting = false;
  const rows = () => [...document.querySelectorAll("main tbody tr:has(a[href])")];
  const select = (step) => {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.getAttribute("aria-selected") === "true");
    const next = Math.min(Math.max(at + step, 0), all.length - 1);
    if (at >= 0) all[at].removeAttribute("aria-selected");
    all[next].setAttribute("aria-selected", "true");
    all[next].scrollIntoView({ block: "nearest" });
    all[next].querySelector("a[href]").focus({ preventScroll: true });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = event.target;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || at.isContentEditable) {
      if (event.key === "Escape") at.blur();
      return;
    }
    if (waiting) {
      waiting = false;
      const link = document.querySelector(`.rail a[data-key="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    if (event.key === "g") { waiting = true; setTimeout(() => { waiting = false; }, 1500); }
    else if (event.key === "/") { event.preventDefault(); document.getElementById("search")?.focus(); }
    else if (event.key === "?") document.getElementById("keys").showModal();
    else if (event.key === "j") select(1);
    else if (event.key === "k") select(-1);
    else if (event.key === "p") toggle();
  });
})();
