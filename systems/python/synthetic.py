"""A system that is right by construction: eager PyTorch that rounds, reorders and rewrites at random, each
time as some compiler legally might. It shares nothing with the oracle that judges it.

Below autograd, so that the backward pass is covered too, every call of an operator is made as eager mode
makes it, which gives dtypes, shapes, strides and aliasing; then other values may take the places of its
own. With `freedom=fusing` a half-typed result is kept in float32 beside the rounded one, and each use of
it by an operator that compilers fuse sees one or the other; with `freedom=eager` only orders of sums,
formulas and last places differ.
"""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from environment import Environment
from execute import Pack, Program, packed
from synthetic_draw import Draw, nudged
from synthetic_formulas import EXTERN, FUNCTIONS, FUSED, Values
from system import Options, System, only

_HALF = (torch.float16, torch.bfloat16)

# Beside pointwise operators and what FUSED lists: what a compiler turns into loops of its own.
_LOOPS = frozenset(
    "aten." + name
    for name in (
        "_to_copy.default amax.default amin.default max.default min.default max.dim min.dim "
        "argmax.default argmin.default prod.default prod.dim_int cumprod.default std_mean.correction "
        "var_mean.correction native_layer_norm_backward.default native_group_norm.default "
        "native_group_norm_backward.default _fused_rms_norm.default nll_loss_forward.default "
        "nll_loss_backward.default cat.default clone.default copy.default index_select.default "
        "gather.default flip.default roll.default index.Tensor constant_pad_nd.default "
        "slice_scatter.default select_scatter.default diagonal_scatter.default repeat.default "
        "tril.default triu.default slice_backward.default select_backward.default "
        "diagonal_backward.default value_selecting_reduction_backward.default"
    ).split()
)
# Where eager mode rounds a number, or a step, to the half type of the tensor beside it, or where a value a
# rounding error away is another answer: without freedom they are eager's.
_STEPS = frozenset(
    "aten." + name
    for name in (
        "floor_divide.default div.Tensor_mode div.Scalar_mode remainder.Tensor remainder.Scalar "
        "fmod.Tensor fmod.Scalar eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar "
        "softplus.default softplus_backward.default pow.Tensor_Scalar xlogy.Tensor rsqrt.default "
        "prod.default prod.dim_int cumprod.default std.correction logsumexp.default"
    ).split()
)
_SUMS = ("aten.add.Tensor", "aten.sub.Tensor")
_TAKES_INPUT_DTYPE = ("aten._softmax_backward_data.default", "aten._log_softmax_backward_data.default")
# Views whose strides are of the storage, not of the operand.
_BY_STORAGE = ("aten.as_strided.default", "aten._reshape_alias.default")


class Kind(Enum):
    OTHER = 0
    VIEW = 1  # the result shares its operand's storage
    WRITE = 2
    EXTERN = 3
    FUSED = 4


@cache
def _kind(func: Any) -> Kind:
    name, schema = str(func), func._schema
    if func.namespace != "aten" or torch.Tag.nondeterministic_seeded in func.tags:
        return Kind.OTHER
    if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
        return Kind.WRITE
    if any(r.alias_info is not None for r in schema.returns) or name == "aten._unsafe_view.default":
        return Kind.VIEW
    if name in EXTERN:
        return Kind.EXTERN
    fused = torch.Tag.pointwise in func.tags or name in FUSED or name in _LOOPS
    return Kind.FUSED if fused else Kind.OTHER


@cache
def _out_of_place(func: Any) -> Any:
    """aten.add.Tensor of aten.add_.Tensor; None where there is none. Names of overloads do not always agree:
    aten.pow_.Scalar raises a tensor to a number, aten.pow.Scalar a number to a tensor."""
    name = func._schema.name.removeprefix("aten::")
    if not name.endswith("_") or name.endswith("__"):
        return None
    packet = getattr(torch.ops.aten, name[:-1], None)
    plain = [getattr(packet, overload) for overload in packet.overloads()] if packet is not None else []
    alike = [p for p in plain if _parameters(p) == _parameters(func)]
    return next((p for p in alike if p._overloadname == func._overloadname), alike[0] if alike else None)


def _parameters(func: Any) -> list[tuple[str, str]]:
    return [(a.name, a.type.kind()) for a in func._schema.arguments]


@dataclass
class Wide:
    """What a tensor would be without its last rounding."""

    value: Tensor | None = None  # float32, of a half-typed tensor
    product: Tensor | None = None  # float64, of a product that a sum may be fused with


class Table:
    """Wide values by the elements they belong to: a storage and a layout on it. So a tensor that autograd
    detaches and saves still has its own."""

    def __init__(self) -> None:
        self._entries: dict[Any, Wide] = {}
        self._storages: dict[int, StorageWeakRef] = {}

    def _key(self, tensor: Tensor, storage: int) -> Any:
        return storage, tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype

    def find(self, tensor: Tensor) -> Wide | None:
        return self._entries.get(self._key(tensor, tensor.untyped_storage()._cdata))

    def put(self, tensor: Tensor, wide: Wide) -> None:
        storage = StorageWeakRef(tensor.untyped_storage())  # keeps the number from being given again
        self._storages.setdefault(storage.cdata, storage)
        self._entries[self._key(tensor, storage.cdata)] = wide
        self._sweep()

    def forget(self, tensor: Tensor) -> None:
        """Something was written into its storage."""
        storage = tensor.untyped_storage()._cdata
        if storage in self._storages:
            self._entries = {k: w for k, w in self._entries.items() if k[0] != storage}

    def _sweep(self) -> None:
        if len(self._storages) % 64 == 0:
            dead = {number for number, ref in self._storages.items() if ref.expired()}
            self._entries = {k: w for k, w in self._entries.items() if k[0] not in dead}
            self._storages = {n: ref for n, ref in self._storages.items() if n not in dead}


class Legal(TorchDispatchMode):
    """One legal execution, forward and backward."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self._draw, self._table = draw, Table()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # to be hidden from it would import it, in every child

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        kind = _kind(func)
        with torch.no_grad():
            if kind is Kind.WRITE:
                return self._write(func, args, kwargs)
            result = func(*args, **kwargs)
            if kind is Kind.VIEW:
                self._carry(func, args, kwargs, result)
            elif kind is not Kind.OTHER and not _is_complex((args, kwargs, result)):
                self._settle(result, *self._values(func, kind, args, kwargs))
            return result

    # ---- what is written where -----------------------------------------------------------------

    def _settle(self, result: Any, values: Values, wide: Wide) -> None:
        """Puts values in the places of eager's, and keeps what is wider."""
        if values is None:
            return
        for place, value in zip(_listed(result), _listed(values)):
            if value is not None and not place._is_zerotensor():
                place.copy_(value.reshape(place.shape))
                self._keep(place, value, wide)

    def _keep(self, place: Tensor, value: Tensor, wide: Wide) -> None:
        if not self._draw.fuses or not _is_float(place):
            return
        kept = Wide()
        if place.dtype in _HALF and value.dtype not in _HALF:
            kept.value = _laid_out(place, value, torch.float32)
        if wide.product is not None:
            kept.product = _laid_out(place, wide.product, torch.float64)
        if kept.value is not None or kept.product is not None:
            self._table.put(place, kept)

    def _carry(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """A view of a tensor with a wide value has that value's view."""
        wide = self._table.find(args[0]) if isinstance(args[0], Tensor) else None
        if wide is None or str(func) in _BY_STORAGE:
            return
        try:
            views = [
                _listed(None if source is None else func(source, *args[1:], **kwargs))
                for source in (wide.value, wide.product)
            ]
        except RuntimeError:  # it lies in another way
            return
        for i, view in enumerate(_listed(result)):
            if view.dtype == args[0].dtype:
                value, product = (of[i] if of[0] is not None else None for of in views)
                self._table.put(view, Wide(value, product))

    def _write(self, func: Any, args: Any, kwargs: Any) -> Any:
        written = [
            args[i] if i < len(args) else kwargs.get(argument.name)
            for i, argument in enumerate(func._schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        plain, place = _out_of_place(func), written[0]
        values: Values = None
        wide = Wide()
        if plain is not None and _kind(plain) is Kind.FUSED and _is_float(place):
            if not _is_complex((args, kwargs)):
                values, wide = self._values(plain, Kind.FUSED, args, kwargs)
        for tensor in tree_leaves(written):
            if isinstance(tensor, Tensor):
                self._table.forget(tensor)
        if not isinstance(values, Tensor):
            return func(*args, **kwargs)
        value = values.expand(place.shape)
        place.copy_(value)
        self._keep(place, value, wide)
        return place

    # ---- what is computed ----------------------------------------------------------------------

    def _values(self, func: Any, kind: Kind, args: Any, kwargs: Any) -> tuple[Values, Wide]:
        """Another legal answer, and what a sum may be fused with; None for eager's own."""
        draw, name = self._draw, str(func)
        given = tree_leaves((args, kwargs))
        floats = [leaf for leaf in given if _is_float(leaf)]
        double = any(t.dtype == torch.float64 for t in floats)
        pointwise = torch.Tag.pointwise in func.tags
        if not floats or (double and pointwise):
            return None, Wide()
        if not draw.fuses and (name in _STEPS or name in _LOOPS):
            return None, Wide()
        if name == "aten._to_copy.default":
            return self._cast(func, args, kwargs), Wide()
        if any(leaf in _HALF for leaf in given if isinstance(leaf, torch.dtype)):
            if name not in _TAKES_INPUT_DTYPE:
                return None, Wide()

        draw.nominal = floats[0].dtype
        fused = kind is Kind.FUSED
        contracts = fused and name in _SUMS and any(map(self._has_product, floats)) and draw.chance()
        wider = contracts or (pointwise and draw.chance(0.25))
        computed = torch.float64 if wider or double else torch.float32
        seen = {id(t): self._use(t, fused, computed, contracts) for t in floats}  # x == x stays true
        operands = tree_map(lambda leaf: seen.get(id(leaf), leaf), (args, kwargs))
        result = self._answer(func, kind, operands, wider or any(t.dtype in _HALF for t in floats))
        if result is not None and not double:
            result = _narrowed(result)
            if name in FUNCTIONS and isinstance(result, Tensor):
                result = nudged(draw, result)
        wide = Wide()
        if name == "aten.mul.Tensor" and draw.fuses:
            exact = tree_map(lambda leaf: leaf.double() if _is_float(leaf) else leaf, operands)
            wide.product = func(*exact[0], **exact[1])
        return result, wide

    def _answer(self, func: Any, kind: Kind, operands: Any, differs: bool) -> Values:
        """By another formula, or by ATen's kernel where that may give something else than it gave."""
        name = str(func)
        formula = (EXTERN if kind is Kind.EXTERN else FUSED).get(name)
        if formula is not None:
            found = formula(self._draw, *operands[0], **operands[1])
            if found is not None:
                return found
        if kind is Kind.EXTERN:
            return None
        if differs or name in FUNCTIONS or (name == "aten.mul.Tensor" and self._draw.fuses):
            return func(*operands[0], **operands[1])
        return None

    def _has_product(self, tensor: Tensor) -> bool:
        wide = self._table.find(tensor)
        return wide is not None and wide.product is not None

    def _use(self, given: Tensor, fused: bool, computed: torch.dtype, contracts: bool) -> Tensor:
        """An operand as this use sees it."""
        if given.dtype == torch.float64:
            return given
        wide = self._table.find(given) if fused else None
        if wide is not None and contracts and wide.product is not None and self._draw.chance(0.75):
            return wide.product
        if wide is not None and wide.value is not None and self._draw.chance():
            return wide.value.to(computed)
        return given.to(computed)

    def _cast(self, func: Any, args: Any, kwargs: Any) -> Tensor | None:
        source = args[0]
        dtype = kwargs.get("dtype") or source.dtype
        seen = self._use(source, True, torch.float32, False)
        if seen is source and dtype not in _HALF:  # nothing wider than what was cast
            return None
        if dtype.is_floating_point:
            return seen if seen.dtype == torch.float32 else None
        return None if dtype.is_complex else func(seen, *args[1:], **kwargs)


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _listed(values: Any) -> Any:
    return values if isinstance(values, (tuple, list)) else [values]


def _is_complex(values: Any) -> bool:
    return any(isinstance(leaf, Tensor) and leaf.is_complex() for leaf in tree_leaves(values))


def _narrowed(result: Any) -> Any:
    return tree_map(lambda t: t.float() if _is_float(t) else t, result)


def _laid_out(like: Tensor, value: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.empty_like(like, dtype=dtype).copy_(value.reshape(like.shape))


# ---- the system ---------------------------------------------------------------------------------

_modes: list[Legal] = []  # of the execution that this process is at


class Selves:
    """Inputs and cotangents as they are, and the mode of the backward pass."""

    has_values = True

    def __call__(self, tensor: Tensor) -> Tensor:
        return tensor

    def mode(self) -> Legal:
        return _modes[-1]


def _key(seed: int, inputs: list[list[Tensor]]) -> int:
    """The same for the same request and input set, whenever and wherever it is run."""
    digest = hashlib.sha256(str(seed).encode())
    for tensor in (t for item in inputs for t in item):
        plain = tensor.detach().cpu().contiguous()
        digest.update(ctypes.string_at(plain.data_ptr(), plain.nbytes) if plain.nbytes else b"")
    return int.from_bytes(digest.digest()[:8], "little")


def _make(programs: list[Program], environment: Environment, options: Options) -> Pack:
    only("synthetic@py", options, "freedom", "seed")
    freedom, seed = options.get("freedom", "fusing"), int(options.get("seed", "0"))
    if freedom not in ("eager", "fusing"):
        raise ValueError(f"freedom is eager or fusing, not {freedom}")
    pack = packed(programs)

    def call(inputs: list[list[Tensor]]) -> list[tuple[Tensor, ...]]:
        _modes[:] = [Legal(Draw(_key(seed, inputs), freedom == "fusing"))]
        with _modes[-1]:
            return pack(inputs)

    return call


def _warm_up(_: Path, fully: bool) -> None:
    if fully:
        import torch.fx.experimental.symbolic_shapes  # noqa: F401


SYNTHETIC = System(
    compiles=False,
    make=_make,
    warm_up=_warm_up,
    quicken=lambda: None,
    reset=_modes.clear,
    counters=dict,
    observe=lambda enter, leave: None,
    versions=dict,
    stand_in=Selves(),
)
