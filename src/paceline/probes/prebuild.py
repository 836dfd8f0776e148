"""``python -m paceline.probes.prebuild``: compile the operators that ranks would otherwise compile on first use."""

from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder


def main() -> None:
    """Build DeepSpeed's shared-memory communication operator, or load it when it is built already."""
    ShareMemCommBuilder().load(verbose=False)


if __name__ == "__main__":
    main()
