"""Models of the transformers package: definitions only, without weights and without a download."""

from typing import Any

from transformers.initialization import no_init_weights


def without_values(model_class: Any, config: Any) -> Any:
    """Return a new model without computing initial values, because the harness sets all of them.

    Sharded building needs it too: transformers' own initialisation fails on a partitioned parameter.
    """
    with no_init_weights():
        return model_class(config)
