"""``python -m paceline.probes.prebuild``: compile the operators that ranks would otherwise compile on first use."""

from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder


def main() -> None:
    """Build (or load) DeepSpeed's shared-memory communication operator."""
    ShareMemCommBuilder().load(verbose=False)


if __name__ == "__main__":
    main()
