"""What compilers believe: programs under FakeTensorMode, whose kernels know layouts and no values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from environment import Environment
from execute import Pack, Program, packed
from system import Options, System, only

_modes: list[Any] = []  # of the run that this process serves


def _mode() -> Any:
    if not _modes:
        from torch._subclasses.fake_tensor import FakeTensorMode

        _modes.append(FakeTensorMode())
    return _modes[0]


def _make(programs: list[Program], environment: Environment, options: Options) -> Pack:
    only("fake@py", options)
    pack = packed(programs)

    def call(inputs: list[list[torch.Tensor]]) -> list[tuple[torch.Tensor, ...]]:
        with _mode():
            return pack(inputs)

    return call


class Fakes:
    """Fake tensors with the layouts of real ones: a leaf for a leaf, a view for a view."""

    has_values = False

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        return _mode().from_tensor(tensor)

    def mode(self) -> Any:
        return _mode()


_FAKES = Fakes()


def _warm_up(_: Path, fully: bool) -> None:
    import torch._subclasses.fake_tensor  # noqa: F401
    import torch.fx.experimental.symbolic_shapes  # noqa: F401
    import torch._meta_registrations  # noqa: F401

    if fully:
        x = _FAKES(torch.zeros(8, 8))
        with _mode():
            torch.softmax(x @ x, -1)
    _modes.clear()


FAKE = System(
    compiles=False,
    make=_make,
    warm_up=_warm_up,
    quicken=lambda: None,
    reset=_modes.clear,
    counters=dict,
    observe=lambda enter, leave: None,
    versions=dict,
    stand_in=_FAKES,
)
