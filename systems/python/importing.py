"""Programs from files of torch: an exported program, a minifier's script, a Python file.

Each gives a callable with tensors, whose eager forward pass is then recorded as that of a module is
(capture.py). Only a Python file that the user trusts is run; a minifier's script is read, call by call,
and of an exported program only data is loaded.
"""

from __future__ import annotations

import ast
import json
import operator
import os
import re
import runpy
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher

from capture import Json, NotCapturable, Recorder, Recording
from environment import Environment

_SEED = 0


class NotImportable(Exception):
    """The file is not what it should be, or says what is not taken."""


@dataclass
class Source:
    """What a file means."""

    call: Callable[..., Any]
    inputs: dict[str, torch.Tensor]
    parameters: dict[str, torch.Tensor] = field(default_factory=dict)
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    library_init: bool = True  # parameters are literals too


def _named(prefix: str, tensors: Any) -> dict[str, torch.Tensor]:
    return {re.sub(r"\W", "_", prefix + name): tensor for name, tensor in tensors}


def _of_module(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Source:
    """A module or function, called with these."""
    inputs: dict[str, torch.Tensor] = {}

    def place(name: str, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            inputs[name] = value
        elif isinstance(value, (list, tuple)):
            for number, item in enumerate(value):
                place(f"{name}_{number}", item)

    for number, value in enumerate(args):
        place(f"input_{number}", value)
    for name, value in kwargs.items():
        place(f"input_{name}", value)
    source = Source(lambda: module(*args, **kwargs), inputs)
    if isinstance(module, torch.nn.Module):
        source.parameters = _named("p_", module.named_parameters())
        source.buffers = _named("b_", module.named_buffers())
        if module.training and any(isinstance(m, torch.nn.Dropout) for m in module.modules()):
            source.notes.append("dropout is active: the module is in training mode")
    return source


# Exported programs ---------------------------------------------------------------------------------

# Sizes are expressions that torch evaluates with sympy, that is by eval(): names and arithmetic only.
_PLAIN_EXPRESSION = re.compile(r"(?!.*__)(?!.*\.\s*[A-Za-z_])[\w\s+\-*/(),.<>=!&|%]*")
_MOST_JSON = 64 << 20  # bytes


def _check_expressions(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if key.endswith("expr_str") and not _PLAIN_EXPRESSION.fullmatch(str(item)):
                raise NotImportable(f"a size that is no plain expression: {str(item)[:80]}")
            _check_expressions(item)
    elif isinstance(value, list):
        for item in value:
            _check_expressions(item)


def _exported(path: str) -> Source:
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"  # no pickle of this file may make objects
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.filename.endswith(".json"):
                if info.file_size > _MOST_JSON:
                    raise NotImportable(f"{info.filename} is longer than 64 MiB")
                _check_expressions(json.loads(archive.read(info)))
    exported = torch.export.load(path)
    if exported.example_inputs is None:
        raise NotImportable("it was saved without example inputs")
    args, kwargs = exported.example_inputs
    source = _of_module(exported.module(), tuple(args), dict(kwargs))
    if exported.range_constraints:
        source.notes.append("dynamic sizes are those of its example inputs")
    return source


# The minifier's script -----------------------------------------------------------------------------


class _Script:
    """Reads the class Repro and load_args() of a script that torch's minifier wrote."""

    def __init__(self, text: str) -> None:
        self.notes: list[str] = []
        self._tree = ast.parse(text)
        self._generator = torch.Generator().manual_seed(_SEED)
        self._attributes: dict[str, torch.Tensor] = {}
        repro = next(
            (n for n in self._tree.body if isinstance(n, ast.ClassDef) and n.name == "Repro"), None
        )
        if repro is None:
            raise NotImportable("it has no class Repro")
        functions = {n.name: n for n in repro.body if isinstance(n, ast.FunctionDef)}
        if "forward" not in functions:
            raise NotImportable("its class Repro has no forward()")
        self._forward = functions["forward"]
        if "__init__" in functions:
            self._read_init(functions["__init__"])

    def source(self) -> Source:
        names = [a.arg for a in self._forward.args.args[1:]]
        tensors = self._arguments()
        if len(tensors) != len(names):
            raise NotImportable(f"{len(tensors)} arguments are loaded for the {len(names)} of forward()")
        inputs = {n: t for n, t in zip(names, tensors) if isinstance(t, torch.Tensor)}
        given = dict(zip(names, tensors))
        return Source(lambda: self._run(given), inputs, buffers=self._attributes, notes=self.notes)

    def _read_init(self, init: ast.FunctionDef) -> None:
        for line in init.body:
            value = line.value if isinstance(line, ast.Expr) else None
            if not isinstance(value, ast.Call):
                raise NotImportable(f"line {line.lineno}: {ast.unparse(line)[:80]}")
            name = ast.unparse(value.func)
            if name == "super().__init__":
                continue
            if name == "self.register_buffer" and isinstance(value.args[0], ast.Constant):
                made = self._tensor_call(value.args[1])
                if made is not None:
                    self._attributes[str(value.args[0].value)] = made
                    continue
            raise NotImportable(f"line {line.lineno}: {ast.unparse(line)[:80]}")

    def _tensor_call(self, node: ast.expr) -> torch.Tensor | None:
        """torch.tensor(...), torch.randn([...], dtype=...) and their like, with .cuda() left out."""
        if not isinstance(node, ast.Call):
            return None
        name = ast.unparse(node.func)
        if name.endswith(".cuda") and isinstance(node.func, ast.Attribute):
            self.notes.append("tensors of a GPU are taken on the CPU")
            return self._tensor_call(node.func.value)
        args = [self._value(a, {}) for a in node.args]
        kwargs = {k.arg: self._value(k.value, {}) for k in node.keywords if k.arg != "device"}
        if name == "torch.tensor":
            return torch.tensor(*args, **kwargs)
        if name in ("torch.randn", "torch.rand", "torch.zeros", "torch.ones"):
            self.notes.append(f"a buffer is {name}() of its own seed")
            return getattr(torch, name.removeprefix("torch."))(*args, **kwargs)
        if name == "torch.randint":
            return torch.randint(*args, generator=self._generator, **kwargs)
        return None

    def _arguments(self) -> list[Any]:
        """What load_args(reader) reads: elements are drawn, as the script's own reader does."""
        load = next(
            (n for n in self._tree.body if isinstance(n, ast.FunctionDef) and n.name == "load_args"),
            None,
        )
        if load is None:
            raise NotImportable("it has no load_args()")
        made: list[Any] = []
        for line in load.body:
            call = line.value if isinstance(line, (ast.Expr, ast.Assign)) else None
            if not isinstance(call, ast.Call):
                raise NotImportable(f"line {line.lineno}: {ast.unparse(line)[:80]}")
            what = ast.unparse(call.func)
            if what == "reader.storage":
                if call.args and not _is_none(call.args[0]):
                    self._note("saved tensors are not read: elements are drawn")
            elif what == "reader.tensor":
                made.append(self._drawn(call))
            elif what in ("reader.symint", "reader.const"):
                made.append(self._value(call.args[0], {}))
            else:
                raise NotImportable(f"line {line.lineno}: {ast.unparse(line)[:80]}")
        return made

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _drawn(self, call: ast.Call) -> torch.Tensor:
        values = [self._value(a, {}) if not isinstance(a, ast.Name) else None for a in call.args]
        given = {k.arg: self._value(k.value, {}) for k in call.keywords}
        shape = values[1] if len(values) > 1 else given["shape"]
        stride = values[2] if len(values) > 2 else given.get("stride")
        dtype = given.get("dtype", torch.float32)
        if dtype.is_complex:
            raise NotImportable(f"an argument of {dtype}")
        self._note("elements of its arguments are drawn: normal, integers of 0 and 1")
        if dtype.is_floating_point:
            values_ = torch.randn(shape, generator=self._generator).to(dtype)
        else:
            values_ = torch.randint(0, 2, shape, generator=self._generator).to(dtype)
        if stride is None:
            return values_
        laid_out = torch.empty_strided(shape, stride, dtype=dtype)
        return laid_out.copy_(values_)

    def _run(self, names: dict[str, Any]) -> Any:
        known = dict(names)
        for line in self._forward.body:
            if isinstance(line, ast.Return):
                return self._value(line.value, known)
            if not isinstance(line, ast.Assign):
                raise NotImportable(f"line {line.lineno}: {ast.unparse(line)[:80]}")
            target = line.targets[-1]
            if isinstance(target, ast.Name) and not _is_none(line.value):
                value = self._value(line.value, known)
                for name in line.targets:
                    if isinstance(name, ast.Name):
                        known[name.id] = value
        raise NotImportable("its forward() returns nothing")

    def _value(self, node: ast.expr | None, known: dict[str, Any]) -> Any:
        """Constants, names, containers, and calls of torch's operators; nothing else is evaluated."""
        match node:
            case ast.Constant():
                return node.value
            case ast.Name() if node.id in known:
                return known[node.id]
            case ast.Name() if node.id == "inf":
                return float("inf")
            case ast.Name() if node.id == "nan":
                return float("nan")
            case ast.Tuple() | ast.List():
                items = [self._value(item, known) for item in node.elts]
                return tuple(items) if isinstance(node, ast.Tuple) else items
            case ast.UnaryOp(op=ast.USub()):
                return -self._value(node.operand, known)
            case ast.Subscript():
                return operator.getitem(self._value(node.value, known), self._value(node.slice, known))
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node, known)
        raise NotImportable(f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)[:80]}")  # type: ignore[arg-type]

    def _attribute(self, node: ast.Attribute) -> Any:
        text = ast.unparse(node)
        if text.startswith("self.") and node.attr in self._attributes:
            return self._attributes[node.attr]
        if re.fullmatch(r"torch\.\w+", text):
            value = getattr(torch, node.attr, None)
            if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
                return value
        raise NotImportable(f"line {node.lineno}: {text[:80]}")

    def _call(self, node: ast.Call, known: dict[str, Any]) -> Any:
        text = ast.unparse(node.func)
        args = [self._value(a, known) for a in node.args]
        kwargs = {str(k.arg): self._value(k.value, known) for k in node.keywords}
        if text in ("device", "torch.device"):
            self._note("devices are left out: it runs on the CPU")
            return torch.device("cpu")
        found = re.fullmatch(r"torch\.ops\.(aten|prims)\.(\w+)(?:\.(\w+))?", text)
        if found is None or "__" in text:
            raise NotImportable(f"line {node.lineno}: a call of {text[:80]}")
        packet = getattr(getattr(torch.ops, found[1]), found[2])
        call = getattr(packet, found[3]) if found[3] else packet
        return call(*args, **kwargs)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _minifier(path: str) -> Source:
    with open(path, encoding="utf-8") as file:
        return _Script(file.read()).source()


# A Python file -------------------------------------------------------------------------------------


def _python(path: str) -> Source:
    """`module`, a module or function, and `inputs`, a tuple of what it is called with, or a dict."""
    torch.manual_seed(_SEED)
    names = runpy.run_path(path)
    if not callable(names.get("module")):
        raise NotImportable("it defines no `module` that can be called")
    inputs = names.get("inputs")
    if not isinstance(inputs, (tuple, list, dict)):
        raise NotImportable("it defines no `inputs`: a tuple, or a dict of keyword arguments")
    if isinstance(inputs, dict):
        return _of_module(names["module"], (), inputs)
    return _of_module(names["module"], tuple(inputs), {})


_READERS: dict[str, Callable[[str], Source]] = {
    "pt2": _exported,
    "minifier": _minifier,
    "python": _python,
}


class Import(Recording):
    """Of a file."""

    def record(self) -> Json:
        Environment.of(self._request["environment"]).apply()
        asked = self._request["source"]
        source = _READERS[asked["kind"]](asked["path"])
        tensors = source.inputs | source.parameters
        for name, tensor in tensors.items():
            if tensor.device.type != "cpu":
                raise NotImportable(f"{name} is on {tensor.device}")
        recorder = Recorder(source, source.inputs, literal={"user", "parameter"})
        with recorder, enable_python_dispatcher():
            result = source.call()
        outputs = [t for t in _flat(result) if isinstance(t, torch.Tensor)]
        if not outputs:
            raise NotCapturable("it returns no tensor")
        refs = [recorder.ref(output) for output in outputs]
        wrt = [n for n, t in tensors.items() if t.requires_grad and t.is_leaf]
        differentiable = [output.requires_grad for output in outputs]
        return recorder.captured(refs) | {
            "notes": source.notes,
            "wrt": wrt,
            "differentiable": differentiable,
        }


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _flat(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _flat(item)]
    if hasattr(value, "to_tuple"):  # outputs of transformers
        return _flat(value.to_tuple())
    return [value]
