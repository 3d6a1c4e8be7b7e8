"""The colours of pictures, for light and for dark: each look has one, as everywhere."""

from __future__ import annotations

import re

LOOKS = {
    # look: in light, in dark
    "blocked": ("#6e7781", "#8b949e"),
    "idle": ("#6e7781", "#8b949e"),
    "planned": ("#57606a", "#a0a8b2"),
    "ready": ("#57606a", "#a0a8b2"),
    "running": ("#0969da", "#58a6ff"),
    "waiting": ("#8250df", "#a371f7"),
    "retry": ("#9a6700", "#d29922"),
    "succeeded": ("#1a7f37", "#3fb950"),
    "failed": ("#cf222e", "#f85149"),
    "acknowledged": ("#cf222e", "#f85149"),
    "cancelled": ("#424a53", "#9198a1"),
    "cancelling": ("#424a53", "#9198a1"),
    "skipped": ("#6e7781", "#848d97"),
    "compensating": ("#bc4c00", "#f0883e"),
}
GROUNDS = {
    # what: ground, box, ink, muted ink, line
    "light": ("#ffffff", "#ffffff", "#1f2328", "#59636e", "#afb8c1"),
    "dark": ("#0d1117", "#151b23", "#e6edf3", "#9198a1", "#4d5661"),
}
SHAPES = """
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
.head{font-size:15px;font-weight:600}
.head .word{font-size:13px;font-weight:400}
.name{font-size:13px;font-weight:600}
.said,.label{font-size:11px;font-variant-numeric:tabular-nums}
.label{text-anchor:end;paint-order:stroke;stroke-width:4px;stroke-linejoin:round}
.glyph{font-size:16px;text-anchor:middle}
.box{stroke-width:1.2px}
.running .box{stroke-width:2px}
.skipped .box{stroke-width:.6px}
.blocked .box,.idle .box{stroke-dasharray:4 3}
.edge{fill:none;stroke-width:1.2px}
.soft{stroke-dasharray:5 4}
.step:hover .box{stroke-width:2.4px}
.edge:hover{stroke-width:2.6px}
@keyframes pulse{50%{opacity:.35}}
@media (prefers-reduced-motion:no-preference){.running .glyph{animation:pulse 2.4s infinite}}
"""


def colours(theme: int) -> str:
    """The rules of a theme: 0 light, 1 dark."""
    ground, box, ink, muted, line = GROUNDS["dark" if theme else "light"]
    rules = [
        f".ground{{fill:{ground}}}",
        f".box{{fill:{box};stroke:{line}}}",
        f".head,.name{{fill:{ink}}}",
        f".said,.label{{fill:{muted}}}",
        f".label{{stroke:{ground}}}",
        f".edge{{stroke:{line}}}",
        f".tip{{fill:{line}}}",
    ]
    for look, both in LOOKS.items():
        rules.append(f".{look} .box{{stroke:{both[theme]}}}")
        rules.append(f".{look} .glyph,.word.{look}{{fill:{both[theme]}}}")
    filled = LOOKS["failed"][theme]
    rules.append(f".failed .box{{fill:{filled}}}")
    on_it = "#ffffff" if not theme else "#0d1117"
    rules.append(f".failed .name,.failed .said,.failed .glyph{{fill:{on_it}}}")
    return "\n".join(rules)


STYLE = f"{SHAPES}{colours(0)}\n@media (prefers-color-scheme:dark){{\n{colours(1)}\n}}\n"
RULE = re.compile(r"([.a-z][^{}@;]*)\{(?=[a-z-]+:)")


def sheet(scope: str) -> str:
    """The rules for pictures that are part of a page: within ``scope`` alone."""

    def scoped(rule: re.Match[str]) -> str:
        return ",".join(f"{scope} {each}" for each in rule[1].split(",")) + "{"

    return RULE.sub(scoped, STYLE)
