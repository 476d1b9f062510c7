"""Captures a module as a program: records the operators that its eager forward pass calls.

What is recorded is a real execution, seen where torch.export sees it, before dispatch:
composites such as scaled_dot_product_attention are whole. So control flow went as eager's goes, and the
program is eager's to the bit; tracers make libraries take other paths (transformers builds a mask
where eager passes is_causal). What depends on constants alone is folded into constants; a number taken
out of other tensors, which would decide the control flow, is refused.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.schema_check_mode import SchemaCheckMode
from torch.utils._python_dispatch import TorchDispatchMode

import fills
from child import Stages, lift_memory_limit
from environment import Environment
from frames import Channel, Message
from modules import USER_INPUTS, ModuleProgram

Json = dict[str, Any]
aten = torch.ops.aten
_LARGEST_CONSTANTS = 1 << 20  # elements of all literal inputs; they travel as text
_LONGEST_MESSAGE = 16384  # characters of an exception's text


class NotCapturable(Exception):
    """The module does what no program can say."""


@dataclass
class _Value:
    """A tensor as the program knows it."""

    tensor: torch.Tensor  # kept: its id names it
    ref: str  # "" for a constant


class Recorded(Protocol):
    """Whose forward pass is recorded."""

    parameters: dict[str, torch.Tensor]
    buffers: dict[str, torch.Tensor]
    library_init: bool


class Recorder(SchemaCheckMode):
    """The only kind of mode of one's own that the key before autograd takes is one that is a
    SchemaCheckMode."""

    def __init__(
        self,
        program: Recorded,
        inputs: dict[str, torch.Tensor],
        grad: bool = True,
        literal: set[str] = set(),  # noqa: B006
    ) -> None:
        """`grad`: the grad mode that the module is called in. `literal`: sources, beside buffers and
        constants, of which elements are recorded."""
        TorchDispatchMode.__init__(self, torch._C.DispatchKey.PreDispatch)
        self._grad = grad
        self.inputs: list[Json] = []
        self.nodes: list[Json] = []
        self.contents: dict[str, torch.Tensor] = {}  # of literal inputs
        self._values: dict[int, _Value] = {}
        self._constants: dict[tuple[int, int], str] = {}  # id and version: name
        self._names: set[str] = set()
        self._elements = 0
        self._literal = {"buffer", "constant"} | literal
        if program.library_init:
            self._literal.add("parameter")
        sources = [("user", inputs), ("parameter", program.parameters), ("buffer", program.buffers)]
        self._waiting: dict[int, tuple[str, str]] = {}  # buffers that nothing has used yet
        for source, tensors in sources:
            for name, tensor in tensors.items():
                if source == "buffer":
                    self._values[id(tensor)] = _Value(tensor, name)
                    self._waiting[id(tensor)] = (name, source)
                else:
                    self._add_input(name, source, tensor)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        given = dict(zip((a.name for a in func._schema.arguments), args)) | kwargs
        tensors = list(_tensors(given.values()))
        if all(self._is_constant(tensor) for tensor in tensors):
            for tensor in _tensors([result]):
                self._values.setdefault(id(tensor), _Value(tensor, ""))
            return result
        self._record(func, given, result)
        return result

    def captured(self, outputs: list[str]) -> Json:
        """The program, and of each of its inputs where it is from and what a literal one holds."""
        keys = ("name", "dtype", "shape")
        program = {
            "level": "pre_dispatch",
            "symbols": {},
            "inputs": [{key: about[key] for key in keys} for about in self.inputs],
            "nodes": self.nodes,
            "outputs": outputs,
        }
        sources = []
        for about in self.inputs:
            sources.append({"source": about["source"], "strides": about["strides"]})
            if about["name"] in self.contents:
                sources[-1]["content"] = _hex(self.contents[about["name"]])
        return {"status": "completed", "program": program, "inputs": sources}

    def ref(self, tensor: torch.Tensor) -> str:
        """The reference to a value; a constant becomes an input when it is first used."""
        known = self._values.get(id(tensor))
        if known is not None and known.ref:
            if waiting := self._waiting.pop(id(tensor), None):
                self._add_input(*waiting, tensor)
            return known.ref
        key = (id(tensor), tensor._version)
        if key not in self._constants:
            name = self._fresh("constant")
            self._add_input(name, "constant", tensor)
            self._values[id(tensor)] = _Value(tensor, "")  # another version is another input
            self._constants[key] = name
        return self._constants[key]

    def _is_constant(self, tensor: torch.Tensor) -> bool:
        known = self._values.get(id(tensor))
        return known is None or not known.ref

    def _add_input(self, name: str, source: str, tensor: torch.Tensor) -> None:
        self._names.add(name)
        self._values[id(tensor)] = _Value(tensor, name)
        about = {"name": name, "source": source, "strides": list(tensor.stride())}
        self.inputs.append(about | {"dtype": _dtype(tensor.dtype), "shape": list(tensor.shape)})
        if source in self._literal:
            self._elements += tensor.numel()
            if self._elements > _LARGEST_CONSTANTS:
                what = "parameters and constants" if "parameter" in self._literal else "constants"
                raise NotCapturable(f"more than {_LARGEST_CONSTANTS} elements of {what}")
            self.contents[name] = tensor.detach().clone(memory_format=torch.contiguous_format)

    def _fresh(self, stem: str) -> str:
        number = 0
        while f"{stem}_{number}" in self._names:
            number += 1
        self._names.add(f"{stem}_{number}")
        return f"{stem}_{number}"

    def _record(self, func: Any, given: Json, result: Any) -> None:
        operands = list(_tensors(given.values()))
        stopped = self._grad and not torch.is_grad_enabled()
        if stopped and any(t.requires_grad for t in operands):
            raise NotCapturable(f"{func} runs without gradients inside of the module")
        if not isinstance(result, (torch.Tensor, list, tuple)):
            raise NotCapturable(f"{func} takes a number out of a tensor that is no constant")
        if func in _SAME or (func is aten.dropout.default and _drops_nothing(given)):
            self._alias(result, given[next(iter(given))])
        elif isinstance(result, torch.Tensor) and not func._schema.is_mutable and any(
            result is operand for operand in operands
        ):
            self._alias(result, result)
        elif func in _REWRITES:
            _REWRITES[func](self, given, result)
        else:
            self.emit(func, given, result)

    def _alias(self, result: torch.Tensor, of: torch.Tensor) -> None:
        self._values[id(result)] = _Value(result, self.ref(of))

    def emit(self, func: Any, given: Json, result: Any) -> None:
        """Appends a call; its result, a tensor or a list, is then known by its name."""
        packet, overload = func._schema.name.split("::")[1], func._overloadname
        args = {}
        for formal in func._schema.arguments:
            if formal.name not in given:
                continue
            value = given[formal.name]
            default = formal.has_default_value() and not isinstance(value, torch.Tensor)
            if default and _same(value, formal.default_value):
                continue
            if formal.name in ("cudnn_enable", "cudnn_enabled"):  # exporters switch it off
                continue
            if str(formal.type) in _OF_NO_EFFECT or formal.name in ("non_blocking", "copy"):
                self._require_plain(func, formal.name, value)
                continue
            args[formal.name] = self._argument(str(formal.type), formal.name, value)
        name = self._fresh(packet.rstrip("_"))
        op = f"aten.{packet}.{overload}"
        self.nodes.append({"name": name, "op": op, "args": args})
        if isinstance(result, torch.Tensor):
            self._values[id(result)] = _Value(result, name)
        else:
            for number, part in enumerate(result):
                self._values[id(part)] = _Value(part, f"{name}:{number}" if number else name)

    def _require_plain(self, func: Any, name: str, value: Any) -> None:
        """Of arguments that a program has not: only values that change nothing."""
        plain = (None, False, torch.strided, torch.contiguous_format, torch.preserve_format)
        if value not in plain and not isinstance(value, torch.device):
            raise NotCapturable(f"{func} with {name}={value}")

    def _argument(self, kind: str, name: str, value: Any) -> Json | None:
        """As in ir/schema/case.schema.json."""
        kind = kind.removeprefix("Optional[").removesuffix("]") if "Optional[" in kind else kind
        if value is None:
            return None
        if isinstance(value, torch.Tensor):
            return {"ref": self.ref(value)}
        if isinstance(value, torch.dtype):
            return {"dtype": _dtype(value)}
        if name == "dtype":
            raise NotCapturable(f"a dtype as the number {value}")
        if isinstance(value, (list, tuple)):
            if any(isinstance(item, torch.Tensor) for item in value):
                return {"refs": [None if item is None else self.ref(item) for item in value]}
            if not all(type(item) is int for item in value):
                raise NotCapturable(f"a list of {value}")
            return {"ints": [str(item) for item in value]}
        if isinstance(value, str):
            return {"str": value}
        if not isinstance(value, (bool, int, float)):
            raise NotCapturable(f"an argument of type {type(value).__name__}")
        if kind in ("Tensor", "number"):
            return {"scalar": _scalar(value)}
        if isinstance(value, bool):
            return {"bool": value}
        if kind == "float":
            return {"float": _bits(float(value))}
        return {"int": str(value)}


def _slice(recorder: Recorder, given: Json, result: torch.Tensor) -> None:
    if given.get("end") is not None and given["end"] >= given["self"].shape[given.get("dim", 0)]:
        given = {name: value for name, value in given.items() if name != "end"}
    recorder.emit(aten.slice.Tensor, given, result)


def _view(recorder: Recorder, given: Json, result: torch.Tensor) -> None:
    recorder.emit(aten.reshape.default, {"self": given["self"], "shape": given["size"]}, result)


def _pad(recorder: Recorder, given: Json, result: torch.Tensor) -> None:
    if given.get("mode", "constant") != "constant":
        raise NotCapturable(f"padding by {given['mode']}")
    value = given.get("value") or 0.0
    if not given["self"].dtype.is_floating_point:
        value = int(value)
    padded = {"self": given["self"], "pad": given["pad"], "value": value}
    recorder.emit(aten.constant_pad_nd.default, padded, result)


def _split(recorder: Recorder, given: Json, result: Any) -> None:
    dim = given.get("dim", 0)
    sizes = [part.shape[dim] for part in result]
    whole = {"self": given["self"], "split_sizes": sizes, "dim": dim}
    recorder.emit(aten.split_with_sizes.default, whole, result)


def _to(recorder: Recorder, given: Json, result: torch.Tensor) -> None:
    recorder.emit(aten.to.dtype, {"self": given["self"], "dtype": result.dtype}, result)


# Give back what they are given.
_SAME = (aten.alias.default, aten.lift_fresh.default)
_REWRITES = {
    aten.slice.Tensor: _slice,
    aten.view.default: _view,
    aten.pad.default: _pad,
    aten.chunk.default: _split,
    aten.split.Tensor: _split,
    aten.to.dtype_layout: _to,
    aten.to.device: _to,
    aten.to.other: _to,
    aten.type_as.default: _to,
}
_PLAIN = ("Device", "Layout", "MemoryFormat")
_OF_NO_EFFECT = {*_PLAIN, *(f"Optional[{kind}]" for kind in _PLAIN)}


def _drops_nothing(given: Json) -> bool:
    return not given["train"] or given["p"] == 0


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (item for item in value if isinstance(item, torch.Tensor))


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return isinstance(default, (list, tuple)) and list(value) == list(default)
    return type(value) is type(default) and value == default


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _bits(number: float) -> str:
    quiet = math.nan if math.isnan(number) else number
    return struct.pack(">d", quiet).hex()


def _hex(tensor: torch.Tensor) -> str:
    """The bytes of a contiguous tensor."""
    if tensor.numel() == 0:
        return ""
    raw = tensor.cpu().reshape(-1).view(torch.uint8)
    return bytes(raw.tolist()).hex()


def _scalar(value: bool | int | float) -> Json:
    if isinstance(value, bool):
        return {"bool": value}
    return {"int": str(value)} if isinstance(value, int) else {"float": _bits(value)}


def _user_inputs(wire: Json, tokens: int) -> dict[str, torch.Tensor]:
    """Tokens of some kind: what is captured does not depend on them."""
    names = USER_INPUTS if wire["labels"] else USER_INPUTS[:1]
    made = {}
    for number, name in enumerate(names):
        fill = {"kind": "integer", "seed": str(number), "low": "0", "high": str(tokens - 1)}
        shape = [wire["batch"], wire["length"]]
        made[name] = fills.generate(fill, torch.int64, shape)
    return made


class Recording:
    """One request for a program, in the child that serves it."""

    def __init__(self, channel: Channel, request: Message) -> None:
        self._channel, self._request = channel, request

    def run(self) -> None:
        """Sends exactly one `result`."""
        stages = Stages(self._channel, self._request["id"])
        stages.enter("build")
        try:
            captured = self.record()
        except Exception as error:
            text = " ".join(str(error).split())[:_LONGEST_MESSAGE]  # one line of an error
            exception = {"type": type(error).__name__, "message": text}
            captured = {"status": "raised", "exception": exception}
        lift_memory_limit()
        message = {"type": "result", "id": self._request["id"], "captured": captured}
        self._channel.send(message)

    def record(self) -> Json:
        """What Recorder.captured() says of it; it may raise anything."""
        raise NotImplementedError


class Capture(Recording):
    """Of a module."""

    def record(self) -> Json:
        environment = Environment.of(self._request["environment"])
        environment.apply()
        if environment.autocast:
            raise NotCapturable("a module under autocast")
        program = ModuleProgram(self._request["items"][0]["module"])
        program.to(torch.device(environment.device))
        inputs = _user_inputs(self._request["items"][0]["module"], program.tokens)
        inputs = {name: value.to(environment.device) for name, value in inputs.items()}
        recorder = Recorder(program, inputs, environment.grad)
        with environment.forward(), recorder, enable_python_dispatcher():
            outputs = program.step(*inputs.values())
        refs = [recorder.ref(output) for output in outputs]
        if self._request["fault"] == "capture-scales-attention":
            _scale_attention(recorder.nodes)
        return recorder.captured(refs) | {"tokens": program.tokens}


def _scale_attention(nodes: list[Json]) -> None:
    """A planted fault: the program's attention is scaled otherwise than the module's."""
    for node in nodes:
        if node["op"] == "aten.scaled_dot_product_attention.default":
            node["args"]["scale"] = {"float": _bits(1.5)}
