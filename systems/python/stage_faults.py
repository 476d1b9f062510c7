"""Faults of single stages of torch.compile: tanh comes out 1.5 times as large from that stage on.

Planted by the hooks that a stage has; what comes before it is as it was (docs/bisect.md).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch

_FACTOR = 1.5
_TANH = torch.ops.aten.tanh.default


def _spoil(graph: torch.fx.Graph) -> None:
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target not in (_TANH, torch.tanh):
            continue
        with graph.inserting_after(node):
            larger = graph.call_function(torch.ops.aten.mul.Tensor, (node, _FACTOR))
        larger.meta = copy.copy(node.meta)
        node.replace_all_uses_with(larger, delete_user_cb=lambda user, own=larger: user is not own)
    graph.lint()


def _after(owner: Any, name: str, change: Callable[[Any], None]) -> None:
    """`change` is called with what the function returns."""
    real = getattr(owner, name)

    def changed(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        change(result)
        return result

    setattr(owner, name, changed)


def _dynamo() -> None:
    from torch._dynamo.output_graph import OutputGraph

    real = OutputGraph.call_user_compiler

    def changed(self: Any, gm: Any, example_inputs: Any) -> Any:
        _spoil(gm.graph)
        gm.recompile()
        return real(self, gm, example_inputs)

    OutputGraph.call_user_compiler = changed  # type: ignore[method-assign]


def _aot() -> None:
    from torch._functorch._aot_autograd import graph_compile

    def spoil(result: Any) -> None:
        _spoil(result[0].graph)
        result[0].recompile()

    for name in ("aot_dispatch_base_graph", "aot_dispatch_autograd_graph"):
        _after(graph_compile, name, spoil)


def _decompositions() -> None:
    from torch._inductor.decomposition import select_decomp_table

    # The table is made once; this is the one that every compilation is given.
    select_decomp_table()[_TANH] = lambda x: (torch.sigmoid(x * 2) * 2 - 1) * _FACTOR


def _pass(name: str) -> Callable[[], None]:
    def plant() -> None:
        setattr(torch._inductor.config, name, _spoil)

    return plant


def _lowering() -> None:
    from torch._inductor.lowering import lowerings

    real, mul = lowerings[_TANH], lowerings[torch.ops.aten.mul.Tensor]
    lowerings[_TANH] = lambda x: mul(real(x), _FACTOR)


def _code(overrides: Any, when: Callable[[], bool]) -> None:
    real = overrides.tanh

    def tanh(x: Any) -> str:
        code = real(x)
        return f"(({code}) * decltype({x})({_FACTOR}f))" if when() else code

    overrides.tanh = staticmethod(tanh)


def _vectorization() -> None:
    from torch._inductor.codegen.cpp import CppVecOverrides

    _code(CppVecOverrides, lambda: True)


def _fusion() -> None:
    from torch._inductor.codegen.cpp import CppOverrides, CppScheduling, CppVecOverrides

    fused = False
    real = CppScheduling.codegen_node

    def codegen_node(self: Any, node: Any) -> Any:
        nonlocal fused
        fused = len(node.get_nodes()) > 1
        return real(self, node)

    CppScheduling.codegen_node = codegen_node  # type: ignore[method-assign]
    for overrides in (CppOverrides, CppVecOverrides):
        _code(overrides, lambda: fused)


_STAGES: dict[str, Callable[[], None]] = {
    "stage-dynamo": _dynamo,
    "stage-aot": _aot,
    "stage-decompositions": _decompositions,
    "stage-pre-grad": _pass("pre_grad_custom_pass"),
    "stage-joint": _pass("joint_custom_post_pass"),
    "stage-post-grad": _pass("post_grad_custom_post_pass"),
    "stage-lowering": _lowering,
    "stage-vectorization": _vectorization,
    "stage-fusion": _fusion,
}


def before_compile(fault: str) -> None:
    if fault in _STAGES:
        _STAGES[fault]()
