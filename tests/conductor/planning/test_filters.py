"""Which part of a suite is run."""

import pytest

from paceline.conductor.planning.filters import Filters, select
from paceline.conductor.planning.suites import load_suite
from paceline.errors import RequestError


def test_filters_keep_what_they_name_and_refuse_what_is_not_there() -> None:
    suite = load_suite("quick")
    kept = select(suite, Filters(engines=("torchrun/ddp",), category="large-scale"))
    assert [str(e) for c in kept.comparisons for e in c.engines] == ["torchrun/ddp"]
    with pytest.raises(RequestError, match="did you mean 'torchrun/ddp'"):
        select(suite, Filters(engines=("torchrun/dpp",)))
    with pytest.raises(RequestError, match="did you mean 'high-load'"):
        select(suite, Filters(category="highload"))
