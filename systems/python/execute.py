"""One execution of a pack of programs: inputs with their layouts, forward, gradients."""

from __future__ import annotations

import contextlib
import linecache
import math
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
import torch.nn.functional

import fills
from environment import Environment
from modules import ModuleProgram

Program = Callable[..., tuple[torch.Tensor, ...]]
# Takes the inputs of every item of a pack, returns the outputs of every item.
Pack = Callable[[list[list[torch.Tensor]]], list[tuple[torch.Tensor, ...]]]


class StandIn(Protocol):
    """Makes of inputs and cotangents what a system works with instead."""

    has_values: bool  # what it works with has elements

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor: ...

    def mode(self) -> contextlib.AbstractContextManager[Any]:
        """In force in the backward pass, whose formulas make tensors of their own."""
        ...


# Wraps a phase ("forward", "backward") of an execution.
Watch = Callable[[str], contextlib.AbstractContextManager[Any]]


def dtype_of(name: str) -> torch.dtype:
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"unknown dtype: {name}")
    return dtype


@dataclass
class Item:
    """One program of a pack with its inputs, as the run request describes them."""

    program: Program
    inputs: list[dict[str, Any]]
    cotangents: list[dict[str, Any] | None]
    wrt: list[str]  # inputs to differentiate by
    input_sets: list[int]
    values: dict[tuple[str, int, int], torch.Tensor] = field(default_factory=dict)

    @staticmethod
    def of(spec: dict[str, Any], number: int) -> Item:
        sets = [int(s) for s in spec["input_sets"]]
        program: Program
        if "module" in spec:
            program = ModuleProgram(spec["module"])
        else:
            program = load(spec["source"], f"ulpfuzz_program_{number}")
        return Item(program, spec["inputs"], spec["cotangents"], spec["wrt"], sets)

    def generated(self, kind: str, index: int, salt: int) -> torch.Tensor:
        """Contiguous elements of input or cotangent `index`, made once per input set."""
        key = (kind, index, salt)
        if key not in self.values:
            spec = self.inputs[index] if kind == "input" else self.cotangents[index]
            assert spec is not None
            dtype = dtype_of(spec["dtype"])
            self.values[key] = fills.generate(spec["fill"], dtype, spec["shape"], salt)
        return self.values[key]


@dataclass
class Outcome:
    """Tensors of one execution of one item."""

    inputs: list[torch.Tensor]
    outputs: list[torch.Tensor]
    gradients: list[torch.Tensor | None]  # one for each wrt
    # Values after the forward pass, row-major: of the outputs, then of the written inputs.
    output_values: list[torch.Tensor]
    written_values: dict[str, torch.Tensor]

    @staticmethod
    def of(item: Item, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> Outcome:
        for index, output in enumerate(outputs):
            if not isinstance(output, torch.Tensor):
                raise TypeError(f"output {index} is of type {type(output).__name__}, not a tensor")
        written = {
            spec["name"]: snapshot(tensor)
            for spec, tensor in zip(item.inputs, inputs)
            if spec["written"]
        }
        values = [snapshot(output) for output in outputs]
        return Outcome(inputs, outputs, [None] * len(item.wrt), values, written)


def snapshot(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of the elements on the CPU, row-major."""
    if tensor._is_zerotensor():  # autograd's zeros without storage: the gradient of sgn
        tensor = torch.zeros(tensor.shape, dtype=tensor.dtype)
    plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    return plain.clone(memory_format=torch.contiguous_format)


def load(source: str, name: str) -> Program:
    """The function `program` of a source text, in a module of its own.

    Compilers look for the module by name and for the source in linecache.
    """
    filename = f"<{name}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[filename] = (len(source), None, lines, filename)
    module = sys.modules[name] = types.ModuleType(name)
    module.__dict__.update(torch=torch, math=math, F=torch.nn.functional)
    exec(compile(source, filename, "exec"), module.__dict__)  # noqa: S102
    return module.__dict__["program"]


def packed(programs: list[Program]) -> Pack:
    def pack(inputs: list[list[torch.Tensor]]) -> list[tuple[torch.Tensor, ...]]:
        return [program(*args) for program, args in zip(programs, inputs)]

    return pack


def _strides(spec: dict[str, Any]) -> list[int]:
    given = spec.get("strides") or []
    if given or not spec["shape"]:
        return list(given)
    return list(torch.empty(spec["shape"], device="meta").stride())


def _extent(spec: dict[str, Any]) -> int:
    """Elements of storage that a layout reaches, from the start of the storage."""
    offset = int(spec.get("offset", 0))
    if 0 in spec["shape"]:
        return offset
    return offset + 1 + sum((n - 1) * s for n, s in zip(spec["shape"], _strides(spec)))


def _overlaps(shape: list[int], strides: list[int]) -> bool:
    reach = 0
    for stride, size in sorted((s, n) for n, s in zip(shape, strides) if n > 1):
        if stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def _write(base: torch.Tensor, spec: dict[str, Any], values: torch.Tensor) -> None:
    """Puts elements in their places; where several share one, the last in row-major order holds."""
    shape, strides, offset = spec["shape"], _strides(spec), int(spec.get("offset", 0))
    if 0 in shape:
        return
    if not _overlaps(shape, strides):
        base.as_strided(shape, strides, offset).copy_(values)
        return
    position = torch.tensor(offset)
    for size, stride in zip(shape, strides):
        position = position.unsqueeze(-1) + torch.arange(size) * stride
    position, order = position.flatten(), torch.arange(values.numel())
    last = torch.full(base.shape, -1).scatter_reduce(0, position, order, "amax")
    base[last >= 0] = values.flatten()[last[last >= 0]]


def make_inputs(item: Item, salt: int, device: str) -> list[torch.Tensor]:
    """Fresh inputs: storage from torch's allocator, zeros where no element lies.

    An input is a tensor of its own (not a view) with the layout asked for; inputs of one alias class
    are views of one tensor.
    """
    classes: dict[int, torch.Tensor] = {}
    tensors = []
    for index, spec in enumerate(item.inputs):
        alias, dtype = int(spec.get("alias", -1)), dtype_of(spec["dtype"])
        shape, strides, offset = spec["shape"], _strides(spec), int(spec.get("offset", 0))
        base = classes.get(alias)
        if base is None:
            members = [i for i in item.inputs if int(i.get("alias", -1)) == alias] if alias >= 0 else [spec]
            base = torch.zeros(max(_extent(member) for member in members), dtype=dtype)
            _write(base, spec, item.generated("input", index, salt))
            base = base.to(device)
        if alias >= 0:
            classes[alias] = base
            tensor = base.as_strided(shape, strides, offset)
        else:
            tensor = torch.empty(0, dtype=dtype, device=device)
            tensor.set_(base.untyped_storage(), offset, shape, strides)
        tensors.append(tensor.requires_grad_() if spec["name"] in item.wrt else tensor)
    if isinstance(item.program, ModuleProgram):
        return item.program.place([spec["name"] for spec in item.inputs], tensors)
    return tensors


def _make_cotangent(item: Item, index: int, salt: int, device: str) -> torch.Tensor:
    spec = item.cotangents[index]
    assert spec is not None
    base = torch.zeros(_extent(spec), dtype=dtype_of(spec["dtype"]))
    _write(base, spec, item.generated("cotangent", index, salt))
    return base.to(device).as_strided(spec["shape"], _strides(spec))


def _unwatched(_: str) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


def run_once(
    call: Pack,
    items: list[Item],
    turn: int,
    environment: Environment,
    watch: Watch = _unwatched,
    stand_in: StandIn | None = None,
) -> list[Outcome]:
    """Runs every item on its input set number `turn` (its last one, when it has fewer)."""
    device = environment.device
    salts = [item.input_sets[min(turn, len(item.input_sets) - 1)] for item in items]
    inputs = [make_inputs(item, salt, device) for item, salt in zip(items, salts)]
    if stand_in is not None:
        inputs = [[stand_in(tensor) for tensor in tensors] for tensors in inputs]
    torch.manual_seed(environment.rng_seed)
    with environment.forward(), watch("forward"):
        results = call(inputs)
    outcomes = [
        Outcome.of(item, tensors, list(outputs))
        for item, tensors, outputs in zip(items, inputs, results)
    ]
    if environment.grad and any(item.wrt for item in items):
        pairs = list(_differentiable(items, outcomes, salts, device))
        if stand_in is not None:
            pairs = [(output, stand_in(cotangent)) for output, cotangent in pairs]
        if pairs:
            mode = contextlib.nullcontext() if stand_in is None else stand_in.mode()
            with environment.backward(), watch("backward"), mode:
                _differentiate(items, outcomes, pairs)
    return outcomes


def _differentiable(
    items: list[Item], outcomes: list[Outcome], salts: list[int], device: str
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Outputs that take part in the backward pass, with their cotangents."""
    for item, outcome, salt in zip(items, outcomes, salts):
        if not item.wrt:
            continue
        for index, spec in enumerate(item.cotangents):
            if spec is not None and outcome.outputs[index].requires_grad:
                yield outcome.outputs[index], _make_cotangent(item, index, salt, device)


def _differentiate(
    items: list[Item], outcomes: list[Outcome], pairs: list[tuple[torch.Tensor, torch.Tensor]]
) -> None:
    """One backward pass for the whole pack: compiled together, differentiated together."""
    places: list[tuple[Outcome, int, torch.Tensor]] = []
    for item, outcome in zip(items, outcomes):
        by_name = {spec["name"]: t for spec, t in zip(item.inputs, outcome.inputs)}
        places += [(outcome, slot, by_name[name]) for slot, name in enumerate(item.wrt)]
    outputs, cotangents = zip(*pairs)
    gradients = torch.autograd.grad(
        outputs, [tensor for _, _, tensor in places], cotangents, allow_unused=True
    )
    for (outcome, slot, _), gradient in zip(places, gradients):
        outcome.gradients[slot] = gradient
