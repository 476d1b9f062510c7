"""Tensors as the supervisor gets them: a description on the wire, elements in a memfd."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from typing import Any

import torch

from execute import Item, Outcome, snapshot

Description = dict[str, Any]


def has_no_values(tensor: torch.Tensor) -> bool:
    """Whether it is one of FakeTensorMode's."""
    from torch._subclasses.fake_tensor import FakeTensor

    return isinstance(tensor, FakeTensor)


class Elements:
    """A memfd that elements, or a package, are appended to; without `values` it stays empty."""

    def __init__(self, values: bool = True) -> None:
        self._values = values
        self.fd = os.memfd_create("ulpfuzz-results", os.MFD_CLOEXEC)
        self.size = 0

    def append(self, plain: torch.Tensor) -> tuple[int, int]:
        """Appends the elements of a contiguous CPU tensor; returns where they are: start, bytes."""
        length, start = plain.numel() * plain.element_size(), self.size
        if not self._values:
            return start, 0
        if length:
            self.write((ctypes.c_char * length).from_address(plain.data_ptr()))
        return start, length

    def write(self, content: bytes | ctypes.Array[ctypes.c_char]) -> None:
        memory = memoryview(content)
        self.size += len(memory)
        while memory:
            memory = memory[os.write(self.fd, memory) :]


class _Aliases:
    """Who first used a storage."""

    def __init__(self) -> None:
        self._owners: dict[int, str] = {}

    def owner(self, tensor: torch.Tensor, name: str) -> str:
        """The name seen first with this storage; "" when `name` is the first."""
        if tensor._is_zerotensor():  # has no storage to share
            return ""
        storage = tensor.untyped_storage()
        if storage.nbytes() == 0:
            return ""
        address = storage._cdata if has_no_values(tensor) else storage.data_ptr()
        first = self._owners.setdefault(address, name)
        return "" if first == name else first


def _named(
    item: Item, outcome: Outcome
) -> Iterator[tuple[str, str, torch.Tensor | None, torch.Tensor | None]]:
    """Role, name, tensor and values of every result, in the order of the protocol."""
    for index, output in enumerate(outcome.outputs):
        yield "output", f"output {index}", output, outcome.output_values[index]
    for spec, tensor in zip(item.inputs, outcome.inputs):
        if spec["written"]:
            values = outcome.written_values[spec["name"]]
            yield "written-input", f"{spec['name']} after", tensor, values
    for name, gradient in zip(item.wrt, outcome.gradients):
        values = None if gradient is None else snapshot(gradient)
        yield "gradient", f"gradient of {name}", gradient, values


def describe(item: Item, outcome: Outcome, elements: Elements, grad: bool) -> list[Description]:
    """Every result of one execution; gradients only where grad mode was on."""
    aliases = _Aliases()
    for spec, tensor in zip(item.inputs, outcome.inputs):
        aliases.owner(tensor, spec["name"])
    descriptions: list[Description] = []
    for role, name, tensor, values in _named(item, outcome):
        if role == "gradient" and not grad:
            continue
        description: Description = {"role": role, "name": name, "present": tensor is not None}
        if tensor is not None and values is not None:
            at, length = elements.append(values)
            description |= {
                "dtype": str(tensor.dtype).removeprefix("torch."),
                "shape": list(tensor.shape),
                "strides": list(tensor.stride()),
                "offset": tensor.storage_offset(),
                "alias_of": "" if role == "written-input" else aliases.owner(tensor, name),
                "at": at,
                "bytes": length,
            }
        descriptions.append(description)
    return descriptions
