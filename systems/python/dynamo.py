"""Systems behind torch.compile: what they share, and graphs of TorchDynamo and AOTAutograd run kernel by kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from environment import Environment
from execute import Pack, Program
from system import Counters, Function, Options, System, as_one, literal, only


def compile_with(backend: Any, environment: Environment, **how: Any) -> Callable[[Function], Function]:
    """torch.compile under the switches that every run needs."""
    set_caches(environment.caching)
    torch._dynamo.config.fail_on_recompile_limit_hit = True  # never eager in disguise
    dynamic = True if environment.dynamic else None
    return lambda function: torch.compile(function, backend=backend, dynamic=dynamic, **how)


def set_caches(on: bool) -> None:
    torch._inductor.config.fx_graph_cache = on
    torch._functorch.config.enable_autograd_cache = on


def reset() -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


def counters() -> Counters:
    from torch._dynamo.utils import counters

    stats = counters["stats"]
    return {
        "graphs": int(stats["unique_graphs"]),
        "calls": int(stats["calls_captured"]),
        "graph_breaks": int(sum(counters["graph_break"].values())),
    }


def observe(enter: Callable[[str], None], leave: Callable[[], None]) -> None:
    from torch._dynamo import callback

    callback.on_compile_start(lambda _: enter("compile"))
    callback.on_compile_end(lambda _: leave())


def prepare() -> None:
    """Imports, without a thread that would forbid a fork."""
    import torch._inductor.compile_fx  # noqa: F401
    from torch.hub import tqdm

    tqdm.monitor_interval = 0  # the progress bar of torch.fx would start a thread


def _aot_eager(programs: list[Program], environment: Environment, options: Options) -> Pack:
    only("aot_eager", options, "decompositions", "fullgraph")
    decomposes = literal(options.get("decompositions", "false"))
    backend = "aot_eager_decomp_partition" if decomposes else "aot_eager"
    fullgraph = bool(literal(options.get("fullgraph", "false")))
    return as_one(programs, compile_with(backend, environment, fullgraph=fullgraph))


def _dynamo(programs: list[Program], environment: Environment, options: Options) -> Pack:
    only("dynamo", options, "fullgraph")
    fullgraph = bool(literal(options.get("fullgraph", "false")))
    return as_one(programs, compile_with("eager", environment, fullgraph=fullgraph))


def _warm_up_dynamo(_: Path, fully: bool) -> None:
    prepare()
    if fully:
        torch.compile(lambda x: torch.softmax(x @ x, -1), backend="eager")(torch.zeros(8, 8))
        reset()


def _warm_up_aot_eager(_: Path, fully: bool) -> None:
    """Forward only: see inductor.py."""
    prepare()
    if not fully:
        return
    set_caches(False)
    for backend in ("aot_eager", "aot_eager_decomp_partition"):
        torch.compile(lambda x: torch.softmax(x @ x, -1), backend=backend)(torch.zeros(8, 8))
    reset()


DYNAMO = System(
    compiles=True,
    make=_dynamo,
    warm_up=_warm_up_dynamo,
    quicken=lambda: None,
    reset=reset,
    counters=counters,
    observe=observe,
    versions=dict,
)
AOT_EAGER = System(
    compiles=True,
    make=_aot_eager,
    warm_up=_warm_up_aot_eager,
    quicken=lambda: None,
    reset=reset,
    counters=counters,
    observe=observe,
    versions=dict,
)
