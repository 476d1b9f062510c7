"""Which kernels ran: one more execution under autograd's profiler."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from torch.autograd.profiler import profile  # torch.profiler's imports a compiler

_OF_INTEREST = re.compile(r"^aten::.*(attention|bmm|mm|softmax|conv|fft)")


class Kernels:
    """Collects kernels by phase; `watch` goes to execute.run_once."""

    def __init__(self, device: str) -> None:
        self._device = None if device == "cpu" else device
        self._counts: dict[tuple[str, str], int] = {}

    @contextlib.contextmanager
    def watch(self, phase: str) -> Iterator[None]:
        with profile(use_device=self._device) as profiler:
            yield
        for event in profiler.key_averages():
            if _OF_INTEREST.match(event.key):
                key = (event.key, phase)
                self._counts[key] = self._counts.get(key, 0) + event.count

    def found(self) -> list[dict[str, Any]]:
        return [
            {"name": name, "phase": phase, "count": count, "outputs": []}
            for (name, phase), count in sorted(self._counts.items())
        ]
