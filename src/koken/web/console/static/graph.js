// A graph in a page is moved and brought closer: wheel with ctrl, drag, keys, buttons.
// Without it the graph is scrolled.
"use strict";

(() => {
  const main = document.getElementById("main");
  let view = null; // what of the picture is seen, where somebody has moved it: x, y, width, height
  let whole = null; // the size for which that holds
  let held = false; // closer than all of it: what is dragged moves the picture, not the page
  const frame = () => document.querySelector(".graph-frame");
  const picture = () => frame()?.querySelector("svg");

  const show = () => {
    const svg = picture();
    if (!svg || !view) return;
    frame().classList.add("moving");
    frame().classList.toggle("held", held);
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
    frame().style.height = `${whole.high}px`;
  };
  const begin = () => {
    const svg = picture();
    if (view || !svg) return;
    const box = svg.viewBox.baseVal, at = frame();
    whole = { box: { x: box.x, y: box.y }, w: box.width, h: box.height, high: at.clientHeight };
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
    held = true;
    view = { x: view.x + view.w * px * (1 - real), y: view.y + view.h * py * (1 - real), w: view.w * real, h: view.h * real };
    show();
  };
  // As it was before anybody moved it; one that is wider than its place is seen as a whole.
  const all = () => {
    begin();
    if (!view) return;
    held = false;
    const svg = picture();
    if (!svg.matches(".wide")) {
      svg.setAttribute("viewBox", `${whole.box.x} ${whole.box.y} ${whole.w} ${whole.h}`);
      frame().classList.remove("moving", "held");
      frame().style.height = "";
      view = whole = null;
      return;
    }
    const ratio = frame().clientWidth / whole.high;
    const w = Math.max(whole.w, whole.h * ratio);
    view = { x: (whole.w - w) / 2, y: (whole.h - w / ratio) / 2, w, h: w / ratio };
    show();
  };
  const move = (dx, dy) => {
    begin();
    if (!view) return;
    held = true;
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
    if (!event.target.closest(".graph-frame") || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    const box = frame().getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.15 : 0.87, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  }, { passive: false });
  let from = null, dragged = false;
  main.addEventListener("pointerdown", (event) => {
    const mine = event.pointerType === "mouse" || held;
    if (event.button === 0 && mine && event.target.closest(".graph-frame")) { from = { x: event.clientX, y: event.clientY }; dragged = false; }
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
  for (const each of ["pointerup", "pointercancel"]) window.addEventListener(each, () => { from = null; });
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
