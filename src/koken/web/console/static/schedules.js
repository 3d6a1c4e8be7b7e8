// A narrow window begins with what is just behind and to come, not with six hours ago.
"use strict";

for (const strip of document.querySelectorAll(".strip24 .scroll")) {
  if (strip.scrollWidth > strip.clientWidth) strip.scrollLeft = Math.max(Number(strip.dataset.now) - 60, 0);
}
