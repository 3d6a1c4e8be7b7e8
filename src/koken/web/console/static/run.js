// The page of a run: plans open in place, the graph is moved and brought closer.
// Without it plans are pages of their own, and the graph is scrolled.
"use strict";

(() => {
  const main = document.getElementById("main");

  // --- Plans ----------------------------------------------------------------------------------------

  const load = (place, url) => htmx.ajax("GET", url, { target: place, select: ".plan", swap: "innerHTML", push: "false" });
  main.addEventListener("toggle", (event) => {
    const details = event.target;
    if (!details.matches("details.action") || !details.open) return;
    const place = details.querySelector(".plan-place");
    if (place && !place.querySelector(".plan")) {
      load(place, place.dataset.plan).then(() => place.querySelector("input:not([type=hidden]), textarea, button")?.focus({ preventScroll: true }));
    }
  }, true);
  main.addEventListener("change", (event) => {
    const form = event.target.closest(".plan-step");
    const place = form?.closest(".plan-place");
    if (place) load(place, `${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`);
  });
  main.addEventListener("submit", (event) => {
    const place = event.target.matches(".plan-step") && event.target.closest(".plan-place");
    if (!place) return;
    event.preventDefault();
    load(place, `${event.target.getAttribute("action")}?${new URLSearchParams(new FormData(event.target))}`);
  });

  // --- The graph: wheel with ctrl, drag, keys, buttons -----------------------------------------------

  let view = null; // what of the picture is seen, where somebody has moved it: x, y, width, height
  let whole = null; // the size for which that holds
  const frame = () => document.querySelector(".graph-frame");
  const picture = () => frame()?.querySelector("svg");

  const show = () => {
    const svg = picture();
    if (!svg || !view) return;
    frame().classList.add("moving");
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
    frame().style.height = `${whole.high}px`;
  };
  const begin = () => {
    const svg = picture();
    if (view || !svg) return;
    const box = svg.viewBox.baseVal, at = frame();
    whole = { w: box.width, h: box.height, high: at.clientHeight };
    const scale = box.width / svg.getBoundingClientRect().width;
    view = { x: at.scrollLeft * scale, y: at.scrollTop * scale, w: at.clientWidth * scale, h: at.clientHeight * scale };
    at.scrollTo(0, 0);
  };
  const zoom = (by, px, py) => {
    begin();
    if (!view) return;
    const most = Math.max(whole.w, whole.h * (view.w / view.h)) * 1.5;
    const width = Math.min(Math.max(view.w * by, 160), Math.max(most, view.w));
    const real = width / view.w;
    view = { x: view.x + view.w * px * (1 - real), y: view.y + view.h * py * (1 - real), w: view.w * real, h: view.h * real };
    show();
  };
  const all = () => {
    begin();
    if (!view) return;
    const ratio = frame().clientWidth / whole.high;
    const w = Math.max(whole.w, whole.h * ratio);
    view = { x: (whole.w - w) / 2, y: (whole.h - w / ratio) / 2, w, h: w / ratio };
    show();
  };
  const move = (dx, dy) => {
    begin();
    if (!view) return;
    view.x += dx * view.w; view.y += dy * view.h;
    show();
  };
  const ready = () => {
    const tools = document.querySelector(".graph-tools");
    if (tools) tools.hidden = false;
    show();
  };

  main.addEventListener("click", (event) => {
    const how = event.target.closest("[data-zoom]")?.dataset.zoom;
    if (how === "in") zoom(0.75, 0.5, 0.5);
    else if (how === "out") zoom(1.33, 0.5, 0.5);
    else if (how === "all") all();
  });
  main.addEventListener("wheel", (event) => {
    if (!event.target.closest(".graph-frame") || !(event.ctrlKey || event.metaKey || view)) return;
    event.preventDefault();
    const box = frame().getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) {
      zoom(event.deltaY > 0 ? 1.15 : 0.87, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    } else move(event.deltaX / box.width, event.deltaY / box.height);
  }, { passive: false });
  let from = null, dragged = false;
  main.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.target.closest(".graph-frame")) { from = { x: event.clientX, y: event.clientY }; dragged = false; }
  });
  window.addEventListener("pointermove", (event) => {
    if (!from || !frame()) return;
    const dx = event.clientX - from.x, dy = event.clientY - from.y;
    if (!dragged && Math.hypot(dx, dy) < 5) return;
    dragged = true;
    const box = frame().getBoundingClientRect();
    move(-dx / box.width, -dy / box.height);
    from = { x: event.clientX, y: event.clientY };
  });
  window.addEventListener("pointerup", () => { from = null; });
  main.addEventListener("dragstart", (event) => { if (event.target.closest?.(".graph-frame")) event.preventDefault(); });
  main.addEventListener("click", (event) => {
    if (dragged && event.target.closest(".graph-frame")) { event.preventDefault(); dragged = false; }
  }, true);
  main.addEventListener("keydown", (event) => {
    if (!event.target.matches(".graph-frame") || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
    if (event.key in moves) move(...moves[event.key]);
    else if (event.key === "+") zoom(0.75, 0.5, 0.5);
    else if (event.key === "-") zoom(1.33, 0.5, 0.5);
    else if (event.key === "0") all();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  // What failed or goes is in sight, without anybody having moved the picture.
  const sight = () => {
    const at = frame(), step = at?.querySelector(".step.failed, .step.running, .step.waiting");
    if (!step) return;
    const box = at.getBoundingClientRect(), place = step.getBoundingClientRect();
    at.scrollTop += place.top - box.top - (box.height - place.height) / 2;
    at.scrollLeft += place.left - box.left - (box.width - place.width) / 2;
  };
  document.addEventListener("htmx:after:swap", ready);
  ready();
  sight();
})();
