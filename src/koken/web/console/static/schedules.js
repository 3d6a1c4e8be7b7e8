// A narrow window begins with what is just behind and to come, not with six hours ago.
"use strict";

for (const agenda of document.querySelectorAll(".agenda .scroll")) {
  if (agenda.scrollWidth > agenda.clientWidth) agenda.scrollLeft = Math.max(Number(agenda.dataset.now) - 60, 0);
}
