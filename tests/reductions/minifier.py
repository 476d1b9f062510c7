"""PyTorch's accuracy minifier, in process, on a case of float32 inputs and plain operators.

    minifier.py CASE.json      with torch's interpreter; prints a line of the table of run.py
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from typing import Any

import torch
from torch import fx
from torch._dynamo.repro.after_aot import inductor_accuracy_fails
from torch._functorch.fx_minifier import minifier
from torch._inductor import config
from torch._inductor.decomposition import select_decomp_table


def argument(value: Any, values: dict[str, fx.Node]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    return values[content] if kind == "ref" else content


def graph_of(program: dict[str, Any]) -> fx.GraphModule:
    graph = fx.Graph()
    values = {i["name"]: graph.placeholder(i["name"]) for i in program["inputs"]}
    for node in program["nodes"]:
        _, packet, overload = node["op"].split(".")
        op = getattr(getattr(torch.ops.aten, packet), overload)
        args = {k: argument(v, values) for k, v in node["args"].items()}
        schema = [a.name for a in op._schema.arguments if not a.kwarg_only]
        positional = []
        while schema and schema[0] in args:
            positional.append(args.pop(schema.pop(0)))
        values[node["name"]] = graph.call_function(op, tuple(positional), args)
    graph.output(tuple(values[name] for name in program["outputs"]))
    return fx.GraphModule({}, graph)


def main() -> None:
    program = json.load(open(sys.argv[1]))["program"]
    torch.manual_seed(0)
    inputs = [torch.randn(i["shape"]) * (1.0 if k == 0 else 0.2) for k, i in enumerate(program["inputs"])]
    # Composite operators become what the minifier is given after AOTAutograd.
    from torch.fx.experimental.proxy_tensor import make_fx

    with torch.no_grad():
        graph = make_fx(graph_of(program), decomposition_table=select_decomp_table())(*inputs)
    config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"
    config.fx_graph_cache = False
    nodes = sum(n.op == "call_function" for n in graph.graph.nodes)
    checks = 0

    def fails(module: fx.GraphModule, args: list[torch.Tensor]) -> bool:
        nonlocal checks
        checks += 1
        return inductor_accuracy_fails(module, list(args))

    before = cpu()
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        left, args = minifier(graph, inputs, fails, lambda *_: None, save_dir=folder)
    ops = [str(n.target) for n in left.graph.nodes if n.op == "call_function"]
    elements = sum(a.numel() for a in args if isinstance(a, torch.Tensor))
    print(
        f"| PyTorch's minifier, in process | {nodes} | accuracy | {len(ops)} | {elements} "
        f"| {checks} checks | {cpu() - before:.0f} (whole process {cpu():.0f}) | {', '.join(ops)} |"
    )


def cpu() -> float:
    own, children = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
