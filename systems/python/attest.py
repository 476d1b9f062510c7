"""Which kernels ran: one more execution under torch's profiler."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

_OF_INTEREST = re.compile(r"^aten::.*(attention|bmm|mm|softmax|conv|fft)")


class Kernels:
    """Collects kernels by phase; `watch` goes to execute.run_once."""

    def __init__(self, device: str) -> None:
        self._activities = [ProfilerActivity.CPU]
        if device == "cuda":
            self._activities.append(ProfilerActivity.CUDA)
        self._counts: dict[tuple[str, str], int] = {}

    @contextlib.contextmanager
    def watch(self, phase: str) -> Iterator[None]:
        with profile(activities=self._activities) as profiler:
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
