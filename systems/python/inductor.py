"""Inductor: torch.compile with its default backend."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import torch

import dynamo
import kernels
import lowerings
import probes
from environment import Environment
from execute import Pack, Program
from system import Counters, Options, System, as_one, literal


def _make(programs: list[Program], environment: Environment, options: Options) -> Pack:
    how: dict[str, Any] = {}
    options = dict(options)
    for name in ("mode", "fullgraph"):
        if name in options:
            value = options.pop(name)
            how[name] = value if name == "mode" else literal(value)
    if options:
        how["options"] = {name: typed("inductor", name, value) for name, value in options.items()}
    return as_one(programs, dynamo.compile_with("inductor", environment, **how))


def typed(system: str, name: str, text: str) -> Any:
    """An option's text as the type that Inductor's configuration has there."""
    from torch._inductor import config

    known = config.get_config_copy()
    if name not in known:
        raise ValueError(f"{system} has no option {name}")
    value = literal(text)
    return bool(value) if isinstance(known[name], bool) else value


# C++ that calls kernels without the dispatcher tells observers which.
SAYS_ITS_KERNELS: Options = {"cpp.enable_kernel_profile": "true"}


def _attesting(options: Options) -> Options:
    return SAYS_ITS_KERNELS if literal(options.get("cpp_wrapper", "false")) else {}


def remember_probes(folder: Path) -> None:
    probes.remember(folder / "vector-units")


def warm_up(folder: Path, fully: bool) -> None:
    """Compiles one function: imports, the probe of vector units and the precompiled header are then
    behind us, and what a child needs of them is in its memory.

    Forward only: a joint graph starts the autograd engine's threads, and no child could be forked.
    """
    dynamo.prepare()
    remember_probes(folder)
    if lowerings.wanted():
        lowerings.watch()
    if not fully:
        return

    def program(x: torch.Tensor, w: torch.Tensor, i: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.softmax(x @ w, -1)
        z = torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None])
        return y.sum(), torch.sin(z).mean(-1), torch.argmax(x, 1), w[i], (x > 0).to(torch.bfloat16)

    dynamo.set_caches(False)
    torch.compile(program)(torch.zeros(8, 8), torch.zeros(8, 8), torch.tensor([0, 1]))
    reset()


def reset() -> None:
    dynamo.reset()
    torch._inductor.metrics.reset()


def counters() -> Counters:
    from torch._dynamo.utils import counters
    from torch._inductor import metrics

    inductor = counters["inductor"]
    found = {
        "kernels": metrics.generated_kernel_count,
        "vector_kernels": metrics.generated_cpp_vec_kernel_count,
        "extern_calls": inductor["extern_calls"],
        "cache_hits": inductor["fxgraph_cache_hit"] + counters["aot_autograd"]["autograd_cache_hit"],
        "cache_misses": inductor["fxgraph_cache_miss"],
    }
    observed = lowerings.counted() if lowerings.wanted() else {}
    return dynamo.counters() | {name: int(count) for name, count in found.items()} | observed


def versions() -> dict[str, str]:
    from torch._inductor import cpp_builder

    compiler = cpp_builder.get_cpp_compiler()
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True)
    return {"cxx": f"{compiler} {version.stdout.strip()}"}


INDUCTOR = System(
    compiles=True,
    make=_make,
    warm_up=warm_up,
    quicken=kernels.join,
    reset=reset,
    counters=counters,
    observe=dynamo.observe,
    versions=versions,
    attesting=_attesting,
)
