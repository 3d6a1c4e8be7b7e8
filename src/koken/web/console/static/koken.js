// What pages do beyond HTML: live refreshes, keys, times that stay true, the zone, completion.
// Everything works without it; it only saves clicks and reloads.
"use strict";

(() => {
  const page = () => document.getElementById("main");

  // --- Times: "12 min ago" stays true; UTC or the reader's own zone -------------------------------

  const roughly = (seconds) => {
    for (const [unit, size, until] of [["s", 1, 100], ["min", 60, 5400], ["h", 3600, 172800]]) {
      if (seconds < until) return `${Math.round(seconds / size)} ${unit}`;
    }
    return `${Math.round(seconds / 86400)} d`;
  };
  const tick = () => {
    for (const each of document.querySelectorAll("time[data-ago], time[data-so-long], time[data-due]")) {
      const { soLong, due, was } = each.dataset;
      if (soLong !== undefined && halted()) continue;
      const length = (Date.now() - Date.parse(each.dateTime)) / 1000;
      const when = Math.abs(length) < 1 ? "just now" : length > 0 ? `${roughly(length)} ago` : `in ${roughly(-length)}`;
      const told = soLong !== undefined ? `for ${length < 1 ? "a moment" : roughly(length)}`
        : due !== undefined ? `${length > 0 ? was : due} ${when}` : when;
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
  setInterval(() => { if (!halted()) count(); }, 1000);

  const own = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  const cookie = (document.cookie.match(/(?:^|; )koken_zone=([^;]*)/) || [])[1];
  const setZone = (zone) => { document.cookie = `koken_zone=${zone}; path=/; max-age=31536000; samesite=lax`; };
  const zone = document.getElementById("zone");
  // The page anew, in another zone; one that answers a form is not asked for again as it was.
  const anew = () => {
    const { at } = page().dataset;
    if (at === undefined) location.reload();
    else location.assign(at);
  };
  if (cookie === undefined) {
    setZone(own);
    const kept = document.cookie.includes("koken_zone=");
    if (kept && own !== "UTC" && zone && page().dataset.at === undefined) location.reload();
  }
  if (zone && own !== "UTC") {
    zone.addEventListener("click", (event) => {
      event.preventDefault();
      setZone(zone.dataset.zone === "UTC" ? own : "UTC");
      anew();
    });
  }

  // --- Live: a word that something has changed refreshes the page in place ------------------------

  const mark = document.getElementById("live-mark");
  const pause = document.getElementById("live-pause");
  const news = document.getElementById("live-news");
  const aloud = document.getElementById("aloud");
  const PATIENCE = 10000;   // milliseconds without a connection until it is called lost
  let topic = "";           // what this page is about; "" when it does not change
  let seen = "";            // how the topic stands in what is shown, or is being fetched
  let ended = "";           // a topic that does not change any more
  let source = null, retry = 0, away = null, patience = 0;
  let paused = false, refreshing = false, again = false;
  let behind = null;        // since when the page has not come, though the connection stands
  let forced = false;       // somebody wants to see what is new, whatever they have begun
  let late = false;         // a page came for somebody who had meanwhile begun to do something

  // What goes on is not counted on where nobody can know that it does.
  const halted = () => paused || away !== null || behind !== null;
  // A field that says something else than when the page came.
  const filled = (field) => field.matches("[type=checkbox], [type=radio]") ? field.checked !== field.defaultChecked
    : field.matches("select") ? field.selectedIndex !== Math.max([...field.options].findIndex((each) => each.defaultSelected), 0)
    : field.matches("input:not([type=hidden]), textarea") && field.value !== field.defaultValue;
  // Forms that only look for something do not count: they keep what was typed.
  const doing = (form) => form !== null && form.method === "post";
  const busy = () => {
    const at = document.activeElement;
    return document.querySelector("main details.action[open], dialog[open]") !== null
      || [...page().querySelectorAll("form")].some((form) => doing(form) && [...form.elements].some(filled))
      || (at && page().contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) && doing(at.form));
  };
  const show = () => {
    const open = source !== null && source.readyState === EventSource.OPEN;
    const since = away ?? behind;
    const lost = since !== null && Date.now() - since >= PATIENCE;
    const at = lost && new Date(since).toLocaleTimeString([], { timeZone: zone?.dataset.zone, hour12: false });
    const [word, look] = lost ? [`lost since ${at}`, "lost"]
      : since !== null ? ["reconnecting", "lagging"]
      : paused ? ["paused", "paused"]
      : open ? ["live", "live"] : ["connecting", "lagging"];
    mark.hidden = pause.hidden = topic === "";
    if (mark.textContent !== word) mark.textContent = word;
    mark.className = `live-mark ${look}`;
    pause.textContent = paused ? "Resume updates" : "Pause updates";
    document.body.classList.toggle("lost", topic !== "" && lost);
    news.hidden = !again || refreshing || since !== null || !(paused || busy());
  };
  // What each row says, without its times; a row that says something else after a refresh glows once.
  const ROWS = "main tbody tr, main .steplist li";
  const told = () => {
    const found = new Map();
    for (const row of document.querySelectorAll(ROWS)) {
      const key = row.id || row.querySelector("a[href]")?.getAttribute("href");
      const copy = row.cloneNode(true);
      for (const each of copy.querySelectorAll("time, progress")) each.remove();
      if (key && !found.has(key)) found.set(key, { row, text: copy.textContent });
    }
    return found;
  };
  const glow = (before) => {
    for (const [key, { row, text }] of told()) {
      if (before.get(key)?.text === text) continue;
      row.classList.add("changed");
      row.addEventListener("animationend", () => row.classList.remove("changed"), { once: true });
    }
  };
  // The first line without its times; what it says after a refresh is read aloud where it is new.
  const line = () => {
    const copy = page().querySelector("h1")?.cloneNode(true);
    for (const each of copy?.querySelectorAll("time") ?? []) each.remove();
    return copy?.textContent;
  };
  const refresh = async (asked = false) => {
    again = true;
    const may = asked || !(paused || busy());
    if (!may || refreshing || away !== null || document.hidden) { show(); return; }
    refreshing = true; again = false; forced = asked;
    show();
    let came = false;
    const before = told(), said = line();
    const whole = async (...asked) => {      // an error or a sign-in page never takes the page's place
      const answer = await fetch(...asked);
      came = answer.ok && !answer.redirected;
      if (!came) throw new Error(`the page did not come: ${answer.status}`);
      return answer;
    };
    await htmx.ajax("GET", page().dataset.at ?? location.pathname + location.search, {
      target: "#main", select: "#main", swap: "outerMorph", push: "false", fetch: whole,
    });
    if (came && !late) {
      attend(); glow(before);
      if (line() !== said) aloud.textContent = page().querySelector("h1").textContent;
    } else again = true;
    if (came) behind = null;
    else if (behind === null) { behind = Date.now(); setTimeout(show, PATIENCE); }
    late = forced = false;
    setTimeout(() => { refreshing = false; if (again) refresh(); show(); }, came ? 1000 : 5000);
    show();
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
    news.addEventListener("click", () => refresh(true));
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
  for (const each of ["toggle", "focusin", "focusout", "input", "change", "close"]) {
    document.addEventListener(each, () => setTimeout(() => { if (again && !busy()) refresh(); else show(); }), true);
  }
  document.addEventListener("htmx:before:swap", (event) => {
    if (!refreshing || forced || event.detail.ctx.target !== page() || !busy()) return;
    late = true;
    event.preventDefault();
  });
  // What the reader has opened or chosen is theirs: the page that comes says nothing of it, nor of
  // where it came from.
  const KEPT = { open: "details, dialog", "data-at-hand": "tr", "data-at": "main" };
  htmx.registerExtension("kept", {
    htmx_before_morph_attr: (element, { attrName }) => !(attrName in KEPT && element.matches(KEPT[attrName])),
  });

  // --- Keys ---------------------------------------------------------------------------------------

  const KEYS = "koken-keys";
  const letters = document.getElementById("letters");
  try { letters.checked = localStorage.getItem(KEYS) !== "no"; } catch { /* they are on for this page */ }
  letters.addEventListener("change", () => {
    try { localStorage.setItem(KEYS, letters.checked ? "yes" : "no"); } catch { /* it holds for this page alone */ }
  });
  const keys = document.getElementById("keys"), ask = document.getElementById("keys-open");
  if (ask) { ask.hidden = false; ask.addEventListener("click", () => keys.showModal()); }
  let waiting = false;
  // What a row is about, not a tag of it or who did it.
  const way = (row) => row.querySelector(".main a[href]:not(.tag), .job a[href]") ?? row.querySelector("a[href]:not(.tag, .quiet-link)");
  const rows = () => [...document.querySelectorAll("main tbody tr")].filter(way);
  const select = (step) => {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.hasAttribute("data-at-hand"));
    const next = Math.min(Math.max(at + step, 0), all.length - 1);
    all[at]?.removeAttribute("data-at-hand");
    all[next].setAttribute("data-at-hand", "");
    all[next].scrollIntoView({ block: "nearest" });
    way(all[next]).focus({ preventScroll: true });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = event.target;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || at.isContentEditable) {
      if (event.key === "Escape") at.blur();
      return;
    }
    if (!letters.checked) return;
    if (waiting) {
      waiting = false;
      const link = document.querySelector(`.rail a[data-key="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    if (event.key === "g") { waiting = true; setTimeout(() => { waiting = false; }, 1500); }
    else if (event.key === "/") { event.preventDefault(); document.getElementById("search")?.focus(); }
    else if (event.key === "?") keys.showModal();
    else if (event.key === "j") select(1);
    else if (event.key === "k") select(-1);
    else if (event.key === "p") toggle();
  });
})();
