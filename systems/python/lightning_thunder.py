"""Lightning Thunder, by either of its doors.

`entry=thunderfx`, the default, is the backend of torch.compile, as reports on Hugging Face models
use it (lightning-thunder#1407, where thunder.jit does not take the model, and #2153). What Thunder
lacks goes to Inductor there, and is counted. With `entry=jit` it has all of the program or raises.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path
from typing import Any

import torch

import dynamo
import inductor
import kernels
from environment import Environment
from execute import Pack, Program
from system import Counters, Function, Options, System, as_one, literal, only

_jitted: list[Function] = []  # since the last reset
_backends: list[Any] = []


def installed() -> bool:
    return importlib.util.find_spec("thunder") is not None


def _make(programs: list[Program], environment: Environment, options: Options) -> Pack:
    import thunder
    from thunder.dynamo import ThunderCompiler

    entry = options.get("entry", "thunderfx")
    how: dict[str, Any] = {}
    if "executors" in options:
        how["executors"] = thunder.extend.resolve_executors(options["executors"].split("+"))
    if entry == "thunderfx":
        only("thunder", options, "entry", "executors", "fullgraph")
        backend = ThunderCompiler(**how)
        _backends.append(backend)
        fullgraph = bool(literal(options.get("fullgraph", "false")))
        return as_one(programs, dynamo.compile_with(backend, environment, fullgraph=fullgraph))
    if entry != "jit":
        raise ValueError(f"thunder's entry is thunderfx or jit, not {entry}")
    only("thunder[entry=jit]", options, "entry", "executors")
    if environment.dynamic:
        how["cache"] = "symbolic values"

    def jit(function: Function) -> Function:
        _jitted.append(thunder.jit(function, **how))
        return _jitted[-1]

    return as_one(programs, jit)


def _warm_up(folder: Path, fully: bool) -> None:
    """Forward only, as Inductor's, which has to be ready for what Thunder lacks."""
    try:
        import thunder
        from thunder.dynamo import thunderfx
    except Exception as error:  # it does not fit this torch
        raise ImportError(f"thunder: {error}") from error
    inductor.warm_up(folder, fully)
    if fully:
        for compiled in (thunder.jit, thunderfx):
            compiled(lambda x: torch.softmax(x @ x, -1))(torch.zeros(8, 8))
    _reset()


def _reset() -> None:
    dynamo.reset()
    _jitted.clear()
    _backends.clear()


def _counters() -> Counters:
    """`graphs`: what Thunder compiled; `fallbacks`: parts that another ran, for `split_reasons`."""
    import thunder
    from thunder.dynamo.utils import CompilerType

    infos = [info for backend in _backends for info in backend.subgraph_infos]
    compiled = _jitted + [part for info in infos for part in info.thunder_compiled_fns or []]
    others = [
        part
        for info in infos
        for part in info.submodule_to_compiled_functions.values()
        if part.compiler is not CompilerType.THUNDER
    ]
    return dynamo.counters() | {
        "graphs": sum(thunder.cache_misses(function) for function in compiled),
        "fallbacks": len(others),
        "split_reasons": sum(len(info.split_reasons or []) for info in infos),
    }


THUNDER = System(
    compiles=True,
    make=_make,
    warm_up=_warm_up,
    quicken=kernels.join,
    reset=_reset,
    counters=_counters,
    observe=dynamo.observe,
    versions=lambda: {"thunder": importlib.metadata.version("lightning-thunder")},
    rehearsals=1,  # it traces and transforms at the first call
)
