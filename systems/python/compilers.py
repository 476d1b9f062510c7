"""Systems: how each makes a callable of a pack, and how it proves that it compiled."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import kernels
import probes
from environment import Environment
from execute import Pack, Program, packed

Counters = dict[str, int]
Options = dict[str, str]


@dataclass(frozen=True)
class System:
    """A system under test. Adding one is one entry in SYSTEMS."""

    compiles: bool
    # The pack as this system runs it.
    make: Callable[[list[Program], Environment, Options], Pack]
    # Makes the system usable, once in the life of a process; `fully` where it is going to fork many
    # children. The folder outlives it.
    warm_up: Callable[[Path, bool], None]
    # From now on it compiles the same code in less time, where this torch has a way.
    quicken: Callable[[], None]
    # Forgets what it compiled.
    reset: Callable[[], None]
    # What it counted since the last reset; of a compiler, "graphs" is the proof of a compile.
    counters: Callable[[], Counters]
    # Calls the first with the stage when a compile begins inside of a call, the second at its end.
    observe: Callable[[Callable[[str], None], Callable[[], None]], None]
    versions: Callable[[], dict[str, str]]


def _eager(programs: list[Program], environment: Environment, options: Options) -> Pack:
    if options:
        raise ValueError(f"eager has no options: {', '.join(options)}")
    return packed(programs)


def _warm_up_eager(_: Path, fully: bool) -> None:
    if fully:  # autograd.grad imports it, in every child
        import torch.fx.experimental.symbolic_shapes  # noqa: F401


def _inductor(programs: list[Program], environment: Environment, options: Options) -> Pack:
    _set_caches(environment.caching)
    torch._dynamo.config.fail_on_recompile_limit_hit = True  # never eager in disguise
    how: dict[str, Any] = {"dynamic": True if environment.dynamic else None, "backend": "inductor"}
    options = dict(options)
    for name in ("mode", "fullgraph"):
        if name in options:
            value = options.pop(name)
            how[name] = value if name == "mode" else _literal(value)
    if options:
        how["options"] = {name: _typed(name, value) for name, value in options.items()}
    if len(programs) > 1:
        return torch.compile(packed(programs), **how)
    alone = torch.compile(programs[0], **how)
    return lambda inputs: [alone(*inputs[0])]


def _set_caches(on: bool) -> None:
    torch._inductor.config.fx_graph_cache = on
    torch._functorch.config.enable_autograd_cache = on


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False}.get(text.lower(), text)


def _typed(name: str, text: str) -> Any:
    """An option's text as the type that Inductor's configuration has there."""
    from torch._inductor import config

    known = config.get_config_copy()
    if name not in known:
        raise ValueError(f"inductor has no option {name}")
    value = _literal(text)
    return bool(value) if isinstance(known[name], bool) else value


def _warm_up_inductor(folder: Path, fully: bool) -> None:
    """Compiles one function: imports, the probe of vector units and the precompiled header are then
    behind us, and what a child needs of them is in its memory.

    Forward only: a joint graph starts the autograd engine's threads, and no child could be forked.
    """
    import torch._inductor.compile_fx  # noqa: F401
    from torch.hub import tqdm

    tqdm.monitor_interval = 0  # the progress bar of torch.fx would start a thread
    probes.remember(folder / "vector-units")
    if not fully:
        return

    def program(x: torch.Tensor, w: torch.Tensor, i: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.softmax(x @ w, -1)
        z = torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None])
        return y.sum(), torch.sin(z).mean(-1), torch.argmax(x, 1), w[i], (x > 0).to(torch.bfloat16)

    _set_caches(False)
    torch.compile(program)(torch.zeros(8, 8), torch.zeros(8, 8), torch.tensor([0, 1]))
    _reset_dynamo()


def _reset_dynamo() -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch._inductor.metrics.reset()


def _inductor_counters() -> Counters:
    from torch._dynamo.utils import counters
    from torch._inductor import metrics

    stats, inductor = counters["stats"], counters["inductor"]
    found = {
        "graphs": stats["unique_graphs"],
        "calls": stats["calls_captured"],
        "graph_breaks": sum(counters["graph_break"].values()),
        "kernels": metrics.generated_kernel_count,
        "vector_kernels": metrics.generated_cpp_vec_kernel_count,
        "extern_calls": inductor["extern_calls"],
        "cache_hits": inductor["fxgraph_cache_hit"] + counters["aot_autograd"]["autograd_cache_hit"],
        "cache_misses": inductor["fxgraph_cache_miss"],
    }
    return {name: int(count) for name, count in found.items()}


def _observe_dynamo(enter: Callable[[str], None], leave: Callable[[], None]) -> None:
    from torch._dynamo import callback

    callback.on_compile_start(lambda _: enter("compile"))
    callback.on_compile_end(lambda _: leave())


def _inductor_versions() -> dict[str, str]:
    from torch._inductor import cpp_builder

    compiler = cpp_builder.get_cpp_compiler()
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True)
    return {"cxx": f"{compiler} {version.stdout.strip()}"}


SYSTEMS: dict[str, System] = {
    "eager@py": System(
        compiles=False,
        make=_eager,
        warm_up=_warm_up_eager,
        quicken=lambda: None,
        reset=lambda: None,
        counters=dict,
        observe=lambda enter, leave: None,
        versions=dict,
    ),
    "inductor": System(
        compiles=True,
        make=_inductor,
        warm_up=_warm_up_inductor,
        quicken=kernels.join,
        reset=_reset_dynamo,
        counters=_inductor_counters,
        observe=_observe_dynamo,
        versions=_inductor_versions,
    ),
}
