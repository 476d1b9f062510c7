"""Which kernels ran, and the layouts of their tensors: one more execution under an observer.

The observer of execution traces hears of every operator that goes through the dispatcher, with
sizes, strides and offsets of what it took and gave, whoever calls: eager mode, the autograd engine,
code that Inductor wrote, TorchScript. A dispatch mode would change the guards of compiled code, and
so what runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch._C._profiler import (  # torch.profiler, where they are public, imports a compiler
    _add_execution_trace_observer,
    _disable_execution_trace_observer,
    _enable_execution_trace_observer,
    _remove_execution_trace_observer,
)

# The same as in libtorch/kernels.cc.
_OF_INTEREST = re.compile(r"^aten::.*(attention|bmm|mm|softmax|conv|fft)")
# An observer's name of a type of elements -> torch's. Others (seeds of random numbers) are left out.
_DTYPES = {
    "bool": "bool",
    "unsigned char": "uint8",
    "signed char": "int8",
    "short": "int16",
    "short int": "int16",
    "int": "int32",
    "long": "int64",
    "long int": "int64",
    "long long": "int64",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
}
# Code with a C++ wrapper calls kernels without the dispatcher, and says so by itself, with no tensors.
_SHIM = re.compile(r"^aoti_torch_(?:cpu|cuda)_")
_TENSOR = re.compile(r"^Tensor\((.*)\)$")
_NAME = re.compile(r"(\w+)(?:=.*)?$")  # of "Tensor query", of "bool is_causal=False"


class Kernels:
    """Collects kernels by phase; `watch` goes to execute.run_once."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}  # by the record in JSON

    @contextlib.contextmanager
    def watch(self, phase: str) -> Iterator[None]:
        memory = os.memfd_create("ulpfuzz-trace", 0)
        with os.fdopen(memory) as trace:
            _add_execution_trace_observer(f"/proc/self/fd/{memory}")
            _enable_execution_trace_observer()
            try:
                # In the engine's thread of a GPU the observer dies (torch 2.11.0): all in this one.
                with torch.autograd.set_multithreading_enabled(phase != "backward"):
                    yield
            finally:
                _disable_execution_trace_observer()
                _remove_execution_trace_observer()
                for node in json.load(trace)["nodes"]:
                    node["name"] = _SHIM.sub("aten::", node["name"])
                    if _OF_INTEREST.match(node["name"]):
                        self._note(node, phase)

    def _note(self, node: dict[str, Any], phase: str) -> None:
        arguments, results = _names(node)
        record = {
            "name": node["name"],
            "phase": phase,
            "outputs": _tensors(node["outputs"], results),
            "inputs": _tensors(node["inputs"], arguments),
        }
        key = json.dumps(record)
        self._counts[key] = self._counts.get(key, 0) + 1

    def found(self) -> list[dict[str, Any]]:
        """By name and phase, then in order of appearance."""
        records = [json.loads(key) | {"count": count} for key, count in self._counts.items()]
        return sorted(records, key=lambda record: (record["name"], record["phase"]))


def _names(node: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Of arguments and results, from the operator's schema."""
    schema = next((a["value"] for a in node["attrs"] if a["name"] == "op_schema"), "")
    before, _, after = schema.partition(" -> ")
    arguments = before[before.find("(") + 1 : before.rfind(")")]
    formal = [part for part in _split(arguments) if part != "*"]
    names = [match[1] if (match := _NAME.search(part)) else "" for part in formal]
    results = [part.split(" ") for part in _split(after.removeprefix("(").removesuffix(")"))]
    return names, [words[1] if len(words) > 1 else "" for words in results]


def _split(items: str) -> list[str]:
    """At commas outside brackets."""
    parts, depth = [""], 0
    for c in items:
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def _tensors(values: dict[str, Any], names: list[str]) -> list[dict[str, Any]]:
    """Tensors among what a call took or gave; old versions of torch tell no strides."""
    tensors = []
    columns = zip(values["types"], values["values"], values["shapes"], values.get("strides", []))
    for index, (kind, value, shape, strides) in enumerate(columns):
        match = _TENSOR.match(kind)
        if match is None or match[1] not in _DTYPES:
            continue
        layout = {
            "dtype": _DTYPES[match[1]],
            "shape": shape,
            "strides": strides,
            "offset": value[2],  # after the numbers of the tensor and of its storage
        }
        tensors.append({"name": names[index] if index < len(names) else "", "layout": layout})
    return tensors
