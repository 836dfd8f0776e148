"""Data sets by name, without torch: which of them are on this machine, and which one a workload trains on.

Nothing is downloaded: scikit-learn ships the digits, every Python installation has the sources of its standard library,
and Fashion-MNIST is used where its IDX files are on the machine already.
"""

import os
from pathlib import Path
from typing import Literal

from paceline.errors import RequestError, nearest

GENERATED = "generated"
"""Name of synthetic data in the real data's shape, with which input costs next to nothing."""

DATA_VARIABLE = "PACELINE_DATA"
"""Environment variable with the folder of Fashion-MNIST's files, or its parent."""
DEBIAN_FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")
"""Folder of Debian's package dataset-fashion-mnist."""

CUSTOM_REAL, CUSTOM_SYNTHETIC = "own", "own-synthetic"
"""Names of the data of a custom workload, whose class states whether they are real or synthetic."""


def kind(dataset: str) -> Literal["real", "synthetic"]:
    """Return whether a data set is real or synthetic."""
    return "synthetic" if dataset in (GENERATED, CUSTOM_SYNTHETIC) else "real"


def fashion_mnist_dir() -> Path | None:
    """Return the folder with Fashion-MNIST's four IDX files (gzipped or not), or None where there is none."""
    user_folder = os.environ.get(DATA_VARIABLE)
    candidates = [Path(user_folder), Path(user_folder) / "fashion-mnist"] if user_folder else []
    for folder in [*candidates, DEBIAN_FASHION_MNIST]:
        if all(list(folder.glob(f"{part}-{what}*")) for part in ("train", "t10k") for what in ("images", "labels")):
            return folder
    return None


def available(dataset: str) -> bool:
    """Return whether a data set's files are on this machine; installed packages contain all but Fashion-MNIST."""
    return dataset != "fashion-mnist" or fashion_mnist_dir() is not None


def choose(wanted: str, offered: tuple[str, ...]) -> str:
    """Return the data set to train on.

    ``wanted`` is ``auto`` (the first of ``offered`` that is on this machine), ``synthetic`` or a name. Raises
    RequestError for a data set that is not offered, or not on this machine.
    """
    if wanted == "auto":
        return next((name for name in offered if available(name)), offered[-1])
    name = GENERATED if wanted == "synthetic" else wanted
    if name == GENERATED and set(offered) & {CUSTOM_REAL, CUSTOM_SYNTHETIC}:
        raise RequestError(
            "a custom workload has no generated twin: leave data out, or let its class generate the batches"
        )
    choices = (*dict.fromkeys((*offered, GENERATED)),)
    if name not in choices:
        raise RequestError(f"data {wanted!r} is not a data set of this workload: {nearest(wanted, choices)}")
    if not available(name):
        raise RequestError(
            f"data set {name!r} is not on this machine: put its IDX files into a folder that {DATA_VARIABLE} names, "
            "or apt-get install dataset-fashion-mnist"
        )
    return name
