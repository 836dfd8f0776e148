"""Data sets by name, without torch: which exist on this machine, and which a workload takes.

Nothing is downloaded: scikit-learn ships the digits, every machine with Python has its standard library's sources, and
Fashion-MNIST is taken where its IDX files already are.
"""

import os
from pathlib import Path
from typing import Literal

from paceline.errors import RequestError, nearest

GENERATED = "generated"
"""Numbers without meaning in the real data's shape: isolates an engine from its input."""

DATA_VARIABLE = "PACELINE_DATA"
DEBIAN_FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")
"""Where Debian's package dataset-fashion-mnist puts its files."""


CUSTOM_REAL, CUSTOM_SYNTHETIC = "own", "own-synthetic"
"""Data of a user's own class, which says itself whether it is real."""


def kind(dataset: str) -> Literal["real", "synthetic"]:
    """Return whether a data set is real."""
    return "synthetic" if dataset in (GENERATED, CUSTOM_SYNTHETIC) else "real"


def fashion_mnist_dir() -> Path | None:
    """Return the folder with Fashion-MNIST's four IDX files (gzipped or not), or None where there is none."""
    named = os.environ.get(DATA_VARIABLE)
    candidates = [Path(named), Path(named) / "fashion-mnist"] if named else []
    for folder in [*candidates, DEBIAN_FASHION_MNIST]:
        if all(list(folder.glob(f"{part}-{what}*")) for part in ("train", "t10k") for what in ("images", "labels")):
            return folder
    return None


def available(dataset: str) -> bool:
    """Return whether a data set is on this machine; packages that bring one are asked for elsewhere."""
    return dataset != "fashion-mnist" or fashion_mnist_dir() is not None


def choose(wanted: str, offered: tuple[str, ...]) -> str:
    """Return the data set to train on: the first offered one that is here, or the wanted one.

    ``wanted`` is ``auto``, ``synthetic`` or a name. Raises RequestError for one that is not offered or not here.
    """
    if wanted == "auto":
        return next((name for name in offered if available(name)), offered[-1])
    name = GENERATED if wanted == "synthetic" else wanted
    if name == GENERATED and set(offered) & {CUSTOM_REAL, CUSTOM_SYNTHETIC}:
        raise RequestError("a class of your own has no generated twin: leave data out, or let its batches be generated")
    choices = (*dict.fromkeys((*offered, GENERATED)),)
    if name not in choices:
        raise RequestError(f"data {wanted!r} is not a data set of this workload: {nearest(wanted, choices)}")
    if not available(name):
        raise RequestError(
            f"data set {name!r} is not on this machine: put its IDX files into a folder that {DATA_VARIABLE} names, "
            "or apt-get install dataset-fashion-mnist"
        )
    return name
