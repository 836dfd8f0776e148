"""The text that decoders are trained on."""

from paceline.workloads.text import standard_library


def test_the_text_is_python() -> None:
    text = bytes(standard_library())
    assert len(text) == 8 * 2**20
    assert b"import " in text
