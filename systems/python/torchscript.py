"""TorchScript: torch.jit.trace, and the graph that its profiling executor made of the trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from environment import Environment
from execute import Pack, Program, packed
from modules import ModuleProgram
from system import Counters, Options, System, as_one, only

_plans: list[Any] = []  # what the last call could run: optimised graphs, and executors of gradients

# The executor watches the first run of a graph and optimises at the second. The gradient's graph
# comes with the optimised one: its own second run is the third of all.
_REHEARSALS = 3


def _make(programs: list[Program], environment: Environment, options: Options) -> Pack:
    """A pack that is traced on the inputs of its first call, which may be written by that."""
    only("torchscript", options)
    if isinstance(programs[0], ModuleProgram):  # its parameters are the trace's, not inputs
        return as_one(programs, _traced)
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
        _plans[:] = _plans_of(made[0])
        return [tuple(next(rest) for _ in range(count)) for count in outputs_of_each]

    return call


def _traced(step: Any) -> Any:
    made: list[Any] = []

    def call(*tensors: torch.Tensor) -> Any:
        if not made:
            made.append(torch.jit.trace(step, tensors, check_trace=False))
        outputs = made[0](*tensors)
        _plans[:] = _plans_of(made[0])
        return outputs

    return call


def _plans_of(traced: Any) -> list[Any]:
    """There is an executor for each state of autocast; asked is that of now."""
    try:
        return list(traced.get_debug_state().execution_plans.values())
    except RuntimeError:  # it has not optimised yet
        return []


def _gradients_of(plan: Any) -> list[Any]:
    try:
        states = plan.code.grad_executor_states()
    except RuntimeError:  # they have not been optimised, or not run
        return []
    return [each.graph for state in states for each in state.execution_plans.values()]


def _counters() -> Counters:
    """`graphs`, `gradient_graphs`: optimised ones; `kernels`: operators that the fuser made one of."""
    graphs = [plan.graph for plan in _plans]
    gradients = [graph for plan in _plans for graph in _gradients_of(plan)]
    nodes = [node for graph in graphs + gradients for node in _nodes(graph)]
    return {
        "graphs": len(graphs),
        "gradient_graphs": len(gradients),
        "kernels": sum(node.kind() == "prim::TensorExprGroup" for node in nodes),
    }


def _nodes(graph: Any) -> Iterator[Any]:
    """Of a graph or block and of all within."""
    for node in graph.nodes():
        yield node
        for block in node.blocks():
            yield from _nodes(block)
        if node.kind() == "prim::DifferentiableGraph":
            yield from _nodes(node.g("Subgraph"))


TORCHSCRIPT = System(
    compiles=True,
    make=_make,
    warm_up=lambda folder, fully: None,
    quicken=lambda: None,
    reset=_plans.clear,
    counters=_counters,
    observe=lambda enter, leave: None,
    versions=dict,
    rehearsals=_REHEARSALS,
)
