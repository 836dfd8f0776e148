"""The cache of operators that frameworks compile on first use (e.g. DeepSpeed's shared-memory operator)."""

import os
from pathlib import Path


def built_operators() -> set[tuple[str, int]]:
    """Return (path, modification time in ns) of every compiled operator under ``TORCH_EXTENSIONS_DIR``."""
    cache = os.environ.get("TORCH_EXTENSIONS_DIR")
    if not cache:
        return set()
    return {(str(path), path.stat().st_mtime_ns) for path in Path(cache).rglob("*.so")}
