"""The default group of ``torch.distributed``: its barrier, and how a rank leaves it."""

import gc

import torch.distributed as dist


class TorchGroup:
    """Barrier over ``torch.distributed``'s default group."""

    def barrier(self) -> None:
        """Return when all ranks have called it."""
        dist.barrier()


def leave_group() -> None:
    """Destroy the default group, after everything that refers to it is freed and all ranks have left their collectives.

    A gloo group that is still alive when the interpreter ends aborts the process ("terminate called without an active
    exception", at about one exit in five), and a finished training would look like a crash.
    """
    gc.collect()
    dist.barrier()
    dist.destroy_process_group()
