"""Larger programs to hide a small one in, as JSON of cases (ir/case.schema.json)."""

from __future__ import annotations

import copy
from typing import Any

Json = dict[str, Any]


class Builder:
    """A case, a call a line."""

    def __init__(self, prefix: str = "m_") -> None:
        self.prefix = prefix
        self.case: Json = {
            "ulpfuzz": 1,
            "program": {"inputs": [], "nodes": [], "outputs": []},
            "inputs": {},
            "cotangents": [],
        }

    def input(self, name: str, shape: list[int], scale: float = 0.25) -> str:
        name = self.prefix + name
        program = self.case["program"]
        program["inputs"].append({"name": name, "dtype": "float32", "shape": shape})
        fill = {"kind": "normal", "seed": len(program["inputs"]), "scale": scale}
        self.case["inputs"][name] = {"fill": fill}
        return name

    def call(self, op: str, /, **args: Any) -> str:
        name = f"{self.prefix}{len(self.case['program']['nodes'])}"
        given = {k: {"ref": v} if isinstance(v, str) else v for k, v in args.items()}
        self.case["program"]["nodes"].append({"name": name, "op": f"aten.{op}", "args": given})
        return name

    def output(self, name: str) -> None:
        self.case["program"]["outputs"].append(name)
        self.case["cotangents"].append(None)


def linear_chain(nodes: int, rows: int = 64, width: int = 128) -> Json:
    """x = tanh(x @ w + b) again and again; one relu, in the middle."""
    b = Builder()
    x = b.input("x", [rows, width], 1.0)
    guilty = nodes // 2 // 3 * 3
    while len(b.case["program"]["nodes"]) < nodes:
        at = len(b.case["program"]["nodes"])
        x = b.call("mm.default", self=x, mat2=b.input(f"w{at}", [width, width], 0.1))
        x = b.call("add.Tensor", self=x, other=b.input(f"b{at}", [width]))
        x = b.call("relu.default" if at == guilty else "tanh.default", self=x)
    b.output(x)
    return b.case


def transformer(nodes: int, tokens: int = 16, width: int = 32, heads: int = 4, relu: bool = False) -> Json:
    """Blocks of RMS norm, attention and a gated MLP; `relu`: in the middle block, in SiLU's place."""
    b = Builder()
    x = b.input("x", [tokens, width], 1.0)

    def norm(v: str, name: str) -> str:
        square = b.call("mul.Tensor", self=v, other=v)
        mean = b.call("mean.dim", self=square, dim={"ints": [-1]}, keepdim={"bool": True})
        root = b.call("rsqrt.default", self=b.call("add.Tensor", self=mean, other={"scalar": 1e-6}))
        return b.call("mul.Tensor", self=b.call("mul.Tensor", self=v, other=root), other=b.input(name, [width]))

    def heads_of(v: str, w: str) -> str:
        v = b.call("mm.default", self=v, mat2=b.input(w, [width, width]))
        v = b.call("reshape.default", self=v, shape={"ints": [1, tokens, heads, width // heads]})
        return b.call("transpose.int", self=v, dim0={"int": 1}, dim1={"int": 2})

    done = False
    layer = 0
    while len(b.case["program"]["nodes"]) < nodes:
        n = f"l{layer}_"
        h = norm(x, n + "norm1")
        q, k, v = (heads_of(h, n + name) for name in ("q", "k", "v"))
        a = b.call("scaled_dot_product_attention.default", query=q, key=k, value=v)
        a = b.call("transpose.int", self=a, dim0={"int": 1}, dim1={"int": 2})
        a = b.call("reshape.default", self=a, shape={"ints": [tokens, width]})
        x = b.call("add.Tensor", self=x, other=b.call("mm.default", self=a, mat2=b.input(n + "o", [width, width])))
        h = norm(x, n + "norm2")
        gate = b.call("mm.default", self=h, mat2=b.input(n + "gate", [width, 2 * width]))
        up = b.call("mm.default", self=h, mat2=b.input(n + "up", [width, 2 * width]))
        guilty = relu and not done and len(b.case["program"]["nodes"]) >= nodes // 2
        done |= guilty
        act = b.call("relu.default" if guilty else "silu.default", self=gate)
        h = b.call("mul.Tensor", self=act, other=up)
        down = b.call("mm.default", self=h, mat2=b.input(n + "down", [2 * width, width]))
        x = b.call("add.Tensor", self=x, other=down)
        layer += 1
    b.output(x)
    return b.case


def hide(case: Json, host: Json) -> Json:
    """Both programs as one: the case's nodes between the host's, its results outputs beside it."""
    result = copy.deepcopy(host)
    own = copy.deepcopy(case)
    program, extra = result["program"], own["program"]
    program["inputs"] += extra["inputs"]
    middle = len(program["nodes"]) // 2
    program["nodes"][middle:middle] = extra["nodes"]
    program["outputs"] += extra["outputs"]
    result["inputs"] |= own["inputs"]
    result["cotangents"] += own.get("cotangents", [None] * len(extra["outputs"]))
    if "environment" in own:
        result["environment"] = own["environment"]
    return result
