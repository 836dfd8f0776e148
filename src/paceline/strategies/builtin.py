"""The built-in strategies, described without torch. Registered as entry points like anybody's."""

from paceline.strategies.descriptor import StrategyDescriptor

SINGLE = StrategyDescriptor(
    "single", "paceline.strategies.single:Single", ("torch",), "plain PyTorch on one rank", one_rank_only=True
)
DDP = StrategyDescriptor(
    "ddp", "paceline.strategies.ddp:DDP", ("torch",), "PyTorch DistributedDataParallel: everything replicated"
)
ZERO0 = StrategyDescriptor(
    "zero0", "paceline.strategies.zero:Zero0", ("torch", "deepspeed"), "DeepSpeed without sharding"
)
ZERO2 = StrategyDescriptor(
    "zero2",
    "paceline.strategies.zero:Zero2",
    ("torch", "deepspeed"),
    "DeepSpeed ZeRO stage 2: optimiser state and gradients sharded",
)
FAKE = StrategyDescriptor(
    "fake",
    "paceline.strategies.fake:Fake",
    (),
    "known step times, no training; for the self-tests of the harness only",
    selftest_only=True,
)
