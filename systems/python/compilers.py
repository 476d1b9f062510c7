"""Systems: how each makes a callable of a pack, and how it proves that it compiled."""

from __future__ import annotations

from pathlib import Path

import lightning_thunder
from aoti import AOTI
from dynamo import AOT_EAGER, DYNAMO
from environment import Environment
from execute import Pack, Program, packed
from fake import FAKE
from inductor import INDUCTOR
from synthetic import SYNTHETIC
from system import Options, System, only
from torchscript import TORCHSCRIPT


def _eager(programs: list[Program], environment: Environment, options: Options) -> Pack:
    only("eager", options)
    return packed(programs)


def _warm_up_eager(_: Path, fully: bool) -> None:
    if fully:  # autograd.grad imports it, in every child
        import torch.fx.experimental.symbolic_shapes  # noqa: F401


# One more system is one more entry.
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
    "fake@py": FAKE,
    "synthetic@py": SYNTHETIC,
    "inductor": INDUCTOR,
    "dynamo": DYNAMO,
    "aot_eager": AOT_EAGER,
    "torchscript": TORCHSCRIPT,
    "aoti": AOTI,
}
if lightning_thunder.installed():
    SYSTEMS["thunder"] = lightning_thunder.THUNDER
