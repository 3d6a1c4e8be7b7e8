// The page of a run: plans open in place. Without it they are pages of their own.
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
})();
