"""The circumstances of a run (ir/environment.h), put in force in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

SdpaChoice = dict[str, Any]


def _kernel(name: str) -> SDPBackend:
    """A kernel by its name in SDPBackend, with or without `_ATTENTION`."""
    members = SDPBackend.__members__
    return members[name] if name in members else members[name + "_ATTENTION"]


@dataclass(frozen=True)
class Environment:
    device: str = "cpu"
    threads: int = 1
    isa: str = "native"
    dynamic: bool = False
    grad: bool = True
    autocast: str = ""
    allow_tf32: bool = False
    reduced_precision_reduction: bool = True
    flush_denormal: bool = False
    deterministic: bool = False
    rng_seed: int = 0
    warm_caches: bool = False
    sdpa: SdpaChoice | None = None
    primed_by: SdpaChoice | None = None

    @staticmethod
    def of(wire: dict[str, Any]) -> Environment:
        fields = {k: v for k, v in wire.items() if k in Environment.__dataclass_fields__}
        unknown = sorted(set(wire) - set(fields))
        if unknown:
            raise ValueError(f"unknown fields of an environment: {', '.join(unknown)}")
        fields["rng_seed"] = int(fields.get("rng_seed", 0))
        return Environment(**fields)

    @property
    def caching(self) -> bool:
        """The compiler's graph caches are on."""
        return self.warm_caches or self.primed_by is not None

    def apply(self) -> None:
        """Sets all switches that are the process's. The ISA is the host's: see host.py."""
        torch.set_num_threads(self.threads)
        if not torch.set_flush_denormal(self.flush_denormal) and self.flush_denormal:
            raise RuntimeError("this processor cannot flush denormals")
        if self.deterministic:  # the call imports a compiler, which takes a second
            torch.use_deterministic_algorithms(True)
        matmul = torch.backends.cuda.matmul
        matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.allow_tf32
        matmul.allow_fp16_reduced_precision_reduction = self.reduced_precision_reduction
        matmul.allow_bf16_reduced_precision_reduction = self.reduced_precision_reduction

    @contextlib.contextmanager
    def forward(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.backward())
            if self.autocast:
                dtype = getattr(torch, self.autocast)
                stack.enter_context(torch.autocast(self.device, dtype=dtype))
            if not self.grad:
                stack.enter_context(torch.no_grad())
            yield

    def backward(self) -> contextlib.AbstractContextManager[None]:
        if self.sdpa is None:
            return contextlib.nullcontext()
        kernels = [_kernel(name) for name in self.sdpa["kernels"]]
        return sdpa_kernel(kernels, set_priority=bool(self.sdpa.get("set_priority", False)))
