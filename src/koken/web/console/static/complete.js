// Completion of the query box: a combobox as assistive technology knows it. Without it the box is a plain one.
"use strict";

(() => {
  for (const box of document.querySelectorAll("input[data-complete]")) {
    const list = document.createElement("ul");
    list.id = `${box.id}-list`;
    list.className = "complete";
    list.hidden = true;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Suggestions");
    box.after(list);
    box.setAttribute("role", "combobox");
    box.setAttribute("aria-autocomplete", "list");
    box.setAttribute("aria-controls", list.id);
    box.setAttribute("aria-expanded", "false");
    let items = [], at = -1, start = 0, end = 0, asked = 0, timer = 0;

    const close = () => {
      list.hidden = true;
      at = -1;
      box.setAttribute("aria-expanded", "false");
      box.removeAttribute("aria-activedescendant");
    };
    const point = (to) => {
      at = to;
      [...list.children].forEach((each, number) => each.setAttribute("aria-selected", String(number === at)));
      if (at < 0) { box.removeAttribute("aria-activedescendant"); return; }
      box.setAttribute("aria-activedescendant", list.children[at].id);
      list.children[at].scrollIntoView({ block: "nearest" });
    };
    const take = (number) => {
      const { text } = items[number];
      const open = /[:.]$/.test(text);   // more of the word is to come
      const rest = box.value.slice(end).replace(/^\s+/, "");
      box.value = box.value.slice(0, start) + text + (open ? "" : " ") + rest;
      const place = start + text.length + (open ? 0 : 1);
      box.setSelectionRange(place, place);
      close();
      if (open) ask();
    };
    const show = (found) => {
      ({ items, start, end } = found);
      list.replaceChildren(...items.map((item, number) => {
        const line = document.createElement("li");
        line.id = `${list.id}-${number}`;
        line.setAttribute("role", "option");
        line.setAttribute("aria-selected", "false");
        const text = document.createElement("span");
        text.textContent = item.text;
        const what = document.createElement("span");
        what.className = "what";
        what.textContent = item.what;
        line.append(text, what);
        line.addEventListener("pointerdown", (event) => { event.preventDefault(); take(number); });
        return line;
      }));
      list.hidden = items.length === 0;
      at = -1;
      box.setAttribute("aria-expanded", String(items.length > 0));
      box.removeAttribute("aria-activedescendant");
    };
    const ask = async () => {
      const mine = ++asked;
      const given = new URLSearchParams({ q: box.value, at: String(box.selectionStart ?? box.value.length) });
      try {
        const answer = await fetch(`${box.dataset.complete}?${given}`, { headers: { Accept: "application/json" } });
        if (!answer.ok) return;
        const found = await answer.json();
        if (mine === asked && document.activeElement === box) show(found);
      } catch { close(); }
    };
    const soon = () => { clearTimeout(timer); timer = setTimeout(ask, 80); };

    box.addEventListener("input", soon);
    box.addEventListener("focus", soon);
    box.addEventListener("blur", () => { clearTimeout(timer); asked++; close(); });
    box.addEventListener("keydown", (event) => {
      if (list.hidden) {
        if (event.key === "ArrowDown") { event.preventDefault(); ask(); }
        return;
      }
      const last = items.length - 1;
      if (event.key === "ArrowDown") { event.preventDefault(); point(at >= last ? 0 : at + 1); }
      else if (event.key === "ArrowUp") { event.preventDefault(); point(at <= 0 ? last : at - 1); }
      else if (event.key === "Tab" && !event.shiftKey && (at >= 0 || end > start)) { event.preventDefault(); take(Math.max(at, 0)); }
      else if (event.key === "Enter" && at >= 0) { event.preventDefault(); take(at); }
      else if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); close(); }
    });
  }
})();
