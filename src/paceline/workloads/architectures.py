"""Models from transformers configurations: the definition only, no weights, no download."""

from typing import Any

from transformers.initialization import no_init_weights


def without_values(model_class: Any, config: Any) -> Any:
    """Return a new model whose initial values nobody has computed: the harness sets every one of them.

    It also makes sharded building possible: transformers' own initialisation fails on a partitioned parameter.
    """
    with no_init_weights():
        return model_class(config)
