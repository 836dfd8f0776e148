"""The built-in strategies, described without torch. Entry points register them, as for strategies of other packages."""

from paceline.schema.suite import Variant
from paceline.strategies.descriptor import StrategyDescriptor

_TORCH = ("torch",)
_DEEPSPEED = ("torch", "deepspeed")

_BIG_BUCKETS = {"big-buckets": Variant(settings={"bucket_cap_mb": 200}, summary="gradients in buckets of 200 MB")}
_DEEPSPEED_BIG_BUCKETS = {
    "big-buckets": Variant(
        settings={"zero_optimization": {"reduce_bucket_size": 200_000_000, "allgather_bucket_size": 200_000_000}},
        summary="buckets of 200 M elements",
    )
}

SINGLE = StrategyDescriptor(
    "single", "paceline.strategies.single:Single", _TORCH, "plain PyTorch on one rank", one_rank_only=True
)
DDP = StrategyDescriptor(
    "ddp",
    "paceline.strategies.ddp:DDP",
    _TORCH,
    "PyTorch DistributedDataParallel: everything replicated",
    variants=_BIG_BUCKETS,
)
FSDP2 = StrategyDescriptor(
    "fsdp2", "paceline.strategies.fsdp2:FSDP2", _TORCH, "PyTorch fully_shard: parameters, gradients and state sharded"
)


def _zero(name: str, implementation: str, summary: str) -> StrategyDescriptor:
    module = f"paceline.strategies.zero:{implementation}"
    return StrategyDescriptor(name, module, _DEEPSPEED, summary, variants=_DEEPSPEED_BIG_BUCKETS)


ZERO0 = _zero("zero0", "Zero0", "DeepSpeed without sharding")
ZERO1 = _zero("zero1", "Zero1", "DeepSpeed ZeRO-1: optimiser state sharded")
ZERO2 = _zero("zero2", "Zero2", "DeepSpeed ZeRO-2: optimiser state and gradients sharded")
ZERO3 = _zero("zero3", "Zero3", "DeepSpeed ZeRO-3: parameters sharded too")
ZERO2_OFFLOAD = _zero("zero2-offload", "Zero2Offload", "ZeRO-2 with optimiser state on the CPU")
ZERO3_OFFLOAD = _zero("zero3-offload", "Zero3Offload", "ZeRO-3 with parameters and optimiser state on the CPU")

FAKE = StrategyDescriptor(
    "fake",
    "paceline.strategies.fake:Fake",
    (),
    "known step times, no training; for the self-tests of the harness only",
    selftest_only=True,
)
