"""TorchScript: torch.jit.trace, and the graph that its profiling executor made of the trace."""

from __future__ import annotations

from typing import Any

import torch

from environment import Environment
from execute import Pack, Program, packed
from system import Counters, Options, System, only

_optimised: list[Any] = []  # graphs that the last call could run

# The executor watches the first run of a graph and optimises at the second; the gradient's graph
# is first there in the second run of the forward one.
_REHEARSALS = 3


def _make(programs: list[Program], environment: Environment, options: Options) -> Pack:
    """A pack that is traced on the inputs of its first call, which may be written by that."""
    only("torchscript", options)
    pack = packed(programs)
    made: list[Any] = []
    inputs_of_each: list[int] = []
    outputs_of_each: list[int] = []

    def flat(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rest = iter(tensors)
        outputs = pack([[next(rest) for _ in range(count)] for count in inputs_of_each])
        outputs_of_each[:] = [len(each) for each in outputs]
        return tuple(output for each in outputs for output in each)

    def call(inputs: list[list[torch.Tensor]]) -> list[tuple[torch.Tensor, ...]]:
        tensors = tuple(tensor for each in inputs for tensor in each)
        if not made:
            inputs_of_each[:] = [len(each) for each in inputs]
            made.append(torch.jit.trace(flat, tensors, check_trace=False))
        rest = iter(made[0](*tensors))
        _optimised[:] = _graphs(made[0])
        return [tuple(next(rest) for _ in range(count)) for count in outputs_of_each]

    return call


def _graphs(traced: Any) -> list[Any]:
    """Optimised graphs. There is an executor for each state of autocast; asked is that of now."""
    try:
        return [plan.graph for plan in traced.get_debug_state().execution_plans.values()]
    except RuntimeError:  # it has none
        return []


def _counters() -> Counters:
    """`kernels`: groups of operators that the fuser made one of."""
    return {
        "graphs": len(_optimised),
        "differentiable_graphs": _count("prim::DifferentiableGraph"),
        "kernels": _count("prim::TensorExprGroup"),
    }


def _count(kind: str) -> int:
    return sum(len(graph.findAllNodes(kind, recurse=True)) for graph in _optimised)


TORCHSCRIPT = System(
    compiles=True,
    make=_make,
    warm_up=lambda folder, fully: None,
    quicken=lambda: None,
    reset=_optimised.clear,
    counters=_counters,
    observe=lambda enter, leave: None,
    versions=dict,
    rehearsals=_REHEARSALS,
)
