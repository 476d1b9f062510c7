"""Faults of the process and of its results, planted on demand to see that they are found.

PROTOCOL.md lists them. Faults of the program ("attn-scale=1.03") are in the source when it comes here.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

import stage_faults
from environment import Environment
from execute import Outcome

# Operators that give the gradients of attention, and torch's functions that say what they return.
_ATTENTION_BACKWARD = {
    "_scaled_dot_product_flash_attention_for_cpu_backward": (
        "meta__scaled_dot_product_flash_attention_for_cpu_backward"
    ),
    "_scaled_dot_product_flash_attention_backward": "meta__scaled_dot_product_flash_backward",
    "_scaled_dot_product_efficient_attention_backward": (
        "meta__scaled_dot_product_efficient_backward"
    ),
    "_scaled_dot_product_cudnn_attention_backward": "meta__scaled_dot_product_cudnn_backward",
}
_libraries: list[torch.library.Library] = []  # what they register lives as long as they do


def before_compile(fault: str) -> None:
    """Changes what compilers believe of a kernel, or one of their stages."""
    stage_faults.before_compile(fault)
    if fault != "sdpa-fake-stride":
        return
    library = torch.library.Library("aten", "IMPL", "Meta")
    for name, meta in _ATTENTION_BACKWARD.items():
        believed = getattr(torch._meta_registrations, meta, None)
        if believed is not None:
            library.impl(name, _contiguous(believed), allow_override=True)
    _libraries.append(library)


def _contiguous(believed: Callable[..., Any]) -> Callable[..., Any]:
    def fake(*args: Any, **kwargs: Any) -> Any:
        results = believed(*args, **kwargs)
        return tuple(r.contiguous() if isinstance(r, torch.Tensor) else r for r in results)

    return fake


def on_environment(fault: str, environment: Environment) -> Environment:
    if fault == "ignores-sdpa-choice":
        return replace(environment, sdpa=None)
    if fault == "flush-denormals":
        return replace(environment, flush_denormal=True)
    return environment


def before_forward(fault: str) -> None:
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGABRT)
    elif fault == "hang":
        while True:
            pass
    elif fault == "memory":
        hoard = []
        while True:
            hoard.append(torch.ones(1 << 24))
    elif fault == "raise":
        raise RuntimeError("a planted fault")
    elif fault == "garbage":
        noise = random.Random(0).randbytes(4096) + b'\n\x05\0\0\0{"type":"result"}\n'
        os.write(1, noise)
        os.write(2, noise)


def on_values(fault: str, outcome: Outcome) -> None:
    """Changes values of floating outputs."""
    name, _, value = fault.partition("=")
    for values in outcome.output_values:
        if not values.is_floating_point() or values.numel() == 0:
            continue
        if fault == "one-nan":
            values.view(-1)[0] = torch.nan
        elif name == "one-element":
            _change_one(values.view(-1), float(value))
            return
        elif fault == "nondeterministic":  # one ulp more on half of the elements, drawn anew
            draw = torch.Generator().manual_seed(int.from_bytes(os.urandom(7), "little"))
            up = torch.rand(values.shape, generator=draw) < 0.5
            bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[values.element_size()]
            values.view(bits).add_(up.to(bits))


def _change_one(values: torch.Tensor, share: float) -> None:
    """The first finite element that is not zero, from the middle on, is 1 + `share` times as large."""
    middle = values.numel() // 2
    there = (values.isfinite() & (values != 0))[middle:].nonzero().flatten()
    if there.numel():
        values[middle + int(there[0])] *= 1 + share


def on_descriptions(fault: str, descriptions: list[dict[str, Any]]) -> None:
    if fault == "wrong-out-stride":
        for description in descriptions:
            if description["name"] == "output 0":
                description["strides"].reverse()
