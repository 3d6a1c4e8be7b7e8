// A secret is copied with a press; where a browser lets no page do that, it is marked to be copied.
"use strict";

for (const button of document.querySelectorAll("button[data-copies]")) {
  const text = document.getElementById(button.dataset.copies);
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Marked: copy it now";
    }
  });
}
