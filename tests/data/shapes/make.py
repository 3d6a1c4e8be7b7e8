"""Makes the files of this folder from the installed package ``wfcommons``: ``python make.py``.

It needs ``wfcommons`` (its data files alone, its own dependencies do not matter) and ``networkx``,
whose graphs the package keeps its instances in.
"""

from __future__ import annotations

import gzip
import io
import json
import pickle
from collections.abc import Mapping
from importlib.metadata import files, version
from pathlib import Path
from typing import Any

PACKAGE = "wfcommons"
LICENSE = "LGPL-3.0"
INSTANCE = "wfcommons/wfchef/recipes/{}/microstructures/{}/base_graph.pickle"
INSTANCES = {
    "srasearch": "srasearch-chameleon-10a-001",
    "epigenomics": "epigenomics-chameleon-hep-1seq-100k-001",
    "montage": "montage-chameleon-dss-05d-001",
    "blast": "blast-chameleon-medium-001",
    "soykb": "soykb-chameleon-50fastq-20ch-001",
    "genome": "1000genome-chameleon-22ch-250k-001",
    "bwa": "bwa-chameleon-large-001",
    "seismology": "seismology-chameleon-1100p-001",
    "epigenomics-large": "epigenomics-chameleon-ilmn-6seq-50k-001",
    "montage-large": "montage-chameleon-dss-15d-001",
    "cycles": "cycles-chameleon-5l-3c-12p-001",
}
"""The instance that each shape is taken from."""
ENDS = {"SRC", "DST"}
"""Nodes that the package adds before the first and behind the last step."""
GRAPHS = "networkx.classes."
"""The modules whose classes an instance is made of, beside plain values."""
FOLDER = Path(__file__).parent


class Unpickler(pickle.Unpickler):
    """Reads graphs and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if not module.startswith(GRAPHS) and (module, name) != ("builtins", "dict"):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a graph")
        return super().find_class(module, name)


def shape(name: str, instance: str) -> Mapping[str, Any]:
    """Names and edges of an instance: steps in the order in which it lists them."""
    path = INSTANCE.format(name.removesuffix("-large"), instance)
    (file,) = (each for each in files(PACKAGE) or () if str(each) == path)
    graph = Unpickler(io.BytesIO(file.read_binary())).load()
    steps = [step for step in graph.nodes if step not in ENDS]
    index = {step: number for number, step in enumerate(steps)}
    edges = sorted(
        (index[begin], index[end])
        for begin, end in graph.edges
        if begin not in ENDS and end not in ENDS
    )
    source = {
        "package": PACKAGE,
        "version": version(PACKAGE),
        "license": LICENSE,
        "instance": instance,
    }
    return {"name": name, "source": source, "steps": steps, "edges": edges}


def main() -> None:
    """Write every shape, and say how large it is."""
    for name, instance in INSTANCES.items():
        found = shape(name, instance)
        text = json.dumps(found, separators=(",", ":"))
        (FOLDER / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"{name}: {len(found['steps'])} steps, {len(found['edges'])} edges")


if __name__ == "__main__":
    main()
