"""The C++ kernels that Inductor generates for a program, with all that is needed to run them without it.

The program is compiled as a user's and run once; each call of a kernel is recorded with the storages
that its pointers lead into. What comes out is a list of kernels, buffers and calls that any process can
make (../kernel_export.h). Not exported is a program of which anything else than its kernels has a part.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import torch

import inductor
from capture import Json, Recording
from environment import Environment
from execute import Item, Pack, run_once

_Kernel = Callable[..., Any]
_MOST_CONSTANT = 1 << 20  # bytes of a buffer that no kernel writes


class NotExportable(Exception):
    """Something else than C++ kernels computes a part of the program."""


class _Buffers:
    """Storages, numbered as they are met; each is kept alive, so that no address comes twice."""

    def __init__(self) -> None:
        self._kept: list[torch.UntypedStorage] = []
        self._numbers: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._written: set[int] = set()
        self._constants: dict[int, bytes] = {}

    def number(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if address not in self._numbers:
            self._numbers[address] = len(self._kept)
            self._kept.append(storage)
        return self._numbers[address]

    def name(self, tensor: torch.Tensor, name: str) -> None:
        number = self.number(tensor)
        if number in self._names:
            raise NotExportable(f"the inputs {self._names[number]} and {name} share a storage")
        self._names[number] = name

    def pointer(self, tensor: torch.Tensor, read_only: bool) -> Json:
        """An argument of a kernel, before the kernel is called."""
        number = self.number(tensor)
        if number not in self._names and number not in self._written and read_only:
            storage = tensor.untyped_storage()
            if storage.nbytes() > _MOST_CONSTANT:
                raise NotExportable(f"a constant of {storage.nbytes()} bytes")
            plain = torch.empty(0, dtype=torch.uint8).set_(storage)
            self._constants.setdefault(number, bytes(plain.tolist()))
        if not read_only:
            self._written.add(number)
        return {"buffer": number, "offset": tensor.data_ptr() - self._kept[number].data_ptr()}

    def output(self, tensor: torch.Tensor) -> Json:
        number = self.number(tensor)
        if number not in self._written and number not in self._names:
            raise NotExportable("an output that no kernel writes")
        return {
            "buffer": number,
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            "offset": tensor.storage_offset(),
        }

    def described(self) -> list[Json]:
        return [
            {
                "bytes": storage.nbytes(),
                "input": self._names.get(number, ""),
                "constant": self._constants.get(number, b"").hex(),
            }
            for number, storage in enumerate(self._kept)
        ]


class _Recorder:
    """Stands between the generated code and its kernels."""

    def __init__(self) -> None:
        self.kernels: list[Json] = []
        self._calls: list[Json] = []
        self._buffers: _Buffers | None = None  # None: not recording

    def install(self) -> None:
        from torch._inductor.async_compile import AsyncCompile

        stock = AsyncCompile.cpp_pybinding

        def cpp_pybinding(owner: Any, argtypes: list[str], source: str) -> _Kernel:
            return self._recorded(stock(owner, argtypes, source), argtypes, source)

        AsyncCompile.cpp_pybinding = cpp_pybinding  # type: ignore[method-assign]

    def _recorded(self, kernel: _Kernel, types: list[str], source: str) -> _Kernel:
        number = len(self.kernels)
        self.kernels.append({"source": source, "arguments": [str(t) for t in types]})

        def call(*arguments: Any) -> Any:
            if self._buffers is not None:
                self._calls.append({"kernel": number, "arguments": self._taken(types, arguments)})
            return kernel(*arguments)

        return call

    def recorded(self, call: Pack, item: Item, environment: Environment) -> Json:
        """One run on the item's sizes: its storages, and the calls with pointers into them."""
        buffers = self._buffers = _Buffers()
        self._calls = []

        def recording(inputs: list[list[torch.Tensor]]) -> list[tuple[torch.Tensor, ...]]:
            for about, tensor in zip(item.inputs, inputs[0]):
                buffers.name(tensor, about["name"])
            return call(inputs)

        (outcome,) = run_once(recording, [item], 0, environment)
        self._buffers = None
        return {
            "buffers": buffers.described(),
            "calls": self._calls,
            "outputs": [buffers.output(output) for output in outcome.outputs],
            "values": [_bytes(value) for value in outcome.output_values],
        }

    def _taken(self, types: list[str], arguments: tuple[Any, ...]) -> list[Any]:
        assert self._buffers is not None
        taken: list[Any] = []
        for kind, argument in zip(types, arguments):
            if isinstance(argument, torch.Tensor):
                taken.append(self._buffers.pointer(argument, kind.startswith("const ")))
            elif isinstance(argument, int):
                taken.append(argument)
            else:
                raise NotExportable(f"a kernel takes {type(argument).__name__}")
        return taken


class Export(Recording):
    """Of one program, forward, in each of the sizes that its items have."""

    def record(self) -> Json:
        from torch._inductor.cpp_builder import CppTorchOptions
        from torch._inductor.cpu_vec_isa import pick_vec_isa

        environment = Environment.of(self._request["environment"])
        environment.apply()
        specs = self._request["items"]
        if any(spec["source"] != specs[0]["source"] for spec in specs):
            raise NotExportable("a program that names its sizes")
        items = [Item.of(spec, 0) for spec in specs]
        if items[0].wrt:
            raise NotExportable("the backward pass is run by autograd, not by kernels alone")
        recorder = _Recorder()
        recorder.install()
        options = dict(self._request["options"])
        call = inductor.INDUCTOR.make([items[0].program], environment, options)
        for item in items:
            run_once(call, [item], 0, environment)  # compiles
        if count := inductor.counters()["extern_calls"]:
            raise NotExportable(f"{count} calls of operators outside of the kernels")
        bindings = [recorder.recorded(call, item, environment) for item in items]
        compiler = CppTorchOptions(vec_isa=pick_vec_isa())
        return {
            "status": "completed",
            "kernels": recorder.kernels,
            "bindings": bindings,
            "compiler": {
                "definitions": [d.strip() for d in compiler.get_definitions()],
                "include": compiler.get_include_dirs(),
                "flags": compiler.get_cflags(),
                "vector": [a for text in compiler.get_passthrough_args() for a in text.split()],
                "libraries": [p for p in compiler.get_libraries_dirs() if "torch" in p],
            },
            "versions": {"torch": torch.__version__, "python": platform.python_version()},
        }


def _bytes(value: torch.Tensor) -> str:
    """Elements in row-major order, in hex."""
    return bytes(value.contiguous().flatten().view(torch.uint8).tolist()).hex()
