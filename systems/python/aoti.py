"""AOTInductor: torch.export, then a package that the LibTorch worker runs (../libtorch/package.cc)."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import torch

import dynamo
import inductor
from environment import Environment
from execute import Pack, Program
from system import Counters, Options, System

_libraries: list[str] = []  # compiled code in the package made last


class _Module(torch.nn.Module):
    """What torch.export takes."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self._program(*inputs)


def _package(
    program: Program, inputs: list[torch.Tensor], environment: Environment, options: Options
) -> bytes:
    configs = {name: inductor.typed("aoti", name, value) for name, value in options.items()}
    dynamo.set_caches(environment.caching)
    how: dict[str, Any] = {}
    if environment.dynamic:
        auto = torch.export.Dim.AUTO
        how["dynamic_shapes"] = (tuple({d: auto for d in range(t.dim())} for t in inputs),)
    archive = io.BytesIO()
    with environment.forward():
        exported = torch.export.export(_Module(program), tuple(inputs), **how)
        torch._inductor.aoti_compile_and_package(
            exported, package_path=archive, inductor_configs=configs
        )
    with zipfile.ZipFile(archive) as package:
        _libraries[:] = [name for name in package.namelist() if name.endswith(".so")]
    return archive.getvalue()


def _warm_up(folder: Path, fully: bool) -> None:
    """Forward only: see inductor.py. The first package of a process costs four times the next."""
    dynamo.prepare()
    inductor.remember_probes(folder)
    if not fully:
        return

    def program(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.softmax(x @ w, -1).sum(),)

    _package(program, [torch.zeros(8, 8), torch.zeros(8, 8)], Environment(), {})
    _reset()


def _reset() -> None:
    _libraries.clear()
    inductor.reset()


def _counters() -> Counters:
    """`graphs`: compiled models in the package, which is the proof."""
    return inductor.counters() | {"graphs": len(_libraries)}


def _make(programs: list[Program], environment: Environment, options: Options) -> Pack:
    raise NotImplementedError("AOTInductor's package is run by the LibTorch worker")


AOTI = System(
    compiles=True,
    make=_make,
    package=_package,
    warm_up=_warm_up,
    quicken=lambda: None,
    reset=_reset,
    counters=_counters,
    observe=lambda enter, leave: None,
    versions=inductor.versions,
    attesting=lambda options: inductor.SAYS_ITS_KERNELS,
)
