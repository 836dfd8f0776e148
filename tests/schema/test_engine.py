"""Names of engines."""

from paceline.schema.engine import EngineName


def test_engine_names_read_and_print_alike() -> None:
    for text in ("torchrun/ddp", "ray-core/single@fresh"):
        assert str(EngineName.parse(text)) == text
