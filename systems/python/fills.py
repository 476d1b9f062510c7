"""Elements of tensors from counter-based fills: the twin of ir/fill.h, the same to the bit.

Where ULPFUZZ_FILLS names our library (systems/fills), the elements are those of ir/fill.h itself.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import struct
from typing import Any

import torch

Fill = dict[str, Any]

_GAMMA = 0x9E3779B97F4A7C15
_HALF_TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def _signed(value: int) -> int:
    """The int64 with the same 64 bits."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _shift(z: torch.Tensor, bits: int) -> torch.Tensor:
    """Logical shift to the right of 64-bit patterns."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def _mix(z: torch.Tensor) -> torch.Tensor:
    z = (z ^ _shift(z, 30)) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ _shift(z, 27)) * _signed(0x94D049BB133111EB)
    return z ^ _shift(z, 31)


def _salted(seed: int, salt: int) -> int:
    if salt == 0:
        return seed
    return int(_mix(torch.tensor([_signed(seed ^ salt)]))[0])


def real(value: Any) -> float:
    """A float of the wire: a number, or the hex digits of its IEEE bits."""
    if isinstance(value, str):
        return struct.unpack(">d", int(value, 16).to_bytes(8, "big"))[0]
    return float(value)


def _remainder(z: torch.Tensor, n: int) -> torch.Tensor:
    """z mod n of non-negative int64 values; n may be as large as 2^64."""
    return z % n if n < 1 << 63 else z


def _times_power_of_two(x: torch.Tensor, exponent: torch.Tensor, low: int, high: int) -> torch.Tensor:
    """ldexp with one rounding: two exact powers, of which only the second product can round."""
    exponents = range(low, high + 1)
    first = torch.tensor([math.ldexp(1.0, e // 2) for e in exponents], dtype=torch.float64)
    second = torch.tensor([math.ldexp(1.0, e - e // 2) for e in exponents], dtype=torch.float64)
    return x * first[exponent - low] * second[exponent - low]


def _drawn(kind: str, fill: Fill, h: torch.Tensor) -> torch.Tensor:
    """The values before specials: int64 for `integer`, float64 for all others."""
    low, high = int(fill.get("low", 0)), int(fill.get("high", 0))
    scale, shift = real(fill.get("scale", 1.0)), real(fill.get("shift", 0.0))
    if kind == "normal":
        pieces = [_shift(h, bits) & 0xFFFF for bits in (0, 16, 32, 48)]
        total = (pieces[0] + pieces[1] + pieces[2] + pieces[3] - 131070).double()
        return total * scale * 2.0**-15 * 0.8660254037844386 + shift
    if kind == "uniform":
        return scale * (_shift(h, 11).double() * 2.0**-53) + shift
    if kind == "exponent":
        exponent = low + _remainder(_shift(h, 32), high - low + 1)
        fraction = 1.0 + (_shift(h, 12) & 0xFFFFF).double() * 2.0**-20
        sign = 1.0 - 2.0 * (h & 1).double()
        return sign * _times_power_of_two(fraction, exponent, low, high)
    if kind == "integer":
        return low + _remainder(_shift(h, 1), high - low + 1)
    raise ValueError(f"unknown kind of fill: {kind}")


def _rounded(values: torch.Tensor, dtype: torch.dtype, grid: str) -> torch.Tensor:
    """To float32 and to the grid, but for float64 tensors on a float64 grid."""
    if grid == "float64" and dtype in (torch.float64, torch.complex128):
        return values
    values = values.float()
    if grid in _HALF_TYPES:
        values = values.to(_HALF_TYPES[grid]).float()
    return values


def _listed(fill: Fill) -> torch.Tensor:
    """The values or integers that the fill lists."""
    if fill.get("integers"):
        return torch.tensor([int(v) for v in fill["integers"]], dtype=torch.int64)
    return torch.tensor([real(v) for v in fill.get("values", [])], dtype=torch.float64)


def _load_library() -> ctypes.CDLL | None:
    path = os.environ.get("ULPFUZZ_FILLS")
    if not path:
        return None
    library = ctypes.CDLL(path)
    library.ulpfuzz_fill.restype = ctypes.c_char_p
    return library


_LIBRARY = _load_library()


def generate(fill: Fill, dtype: torch.dtype, shape: list[int], salt: int = 0) -> torch.Tensor:
    """A contiguous tensor of `dtype` and `shape`; `salt` selects the input set."""
    if _LIBRARY is not None:
        return _from_library(_LIBRARY, fill, dtype, shape, salt)
    return generate_here(fill, dtype, shape, salt)


def _from_library(
    library: ctypes.CDLL, fill: Fill, dtype: torch.dtype, shape: list[int], salt: int
) -> torch.Tensor:
    count = math.prod(shape) * (2 if dtype.is_complex else 1)
    integral = not (dtype.is_floating_point or dtype.is_complex)
    values = torch.empty(count, dtype=torch.int64 if integral else torch.float64)
    wrong = library.ulpfuzz_fill(
        json.dumps(fill).encode(),
        str(dtype).removeprefix("torch.").encode(),
        (ctypes.c_int64 * len(shape))(*shape),
        ctypes.c_int64(len(shape)),
        ctypes.c_uint64(salt),
        ctypes.c_void_p(values.data_ptr()),
    )
    if wrong is not None:
        raise ValueError(wrong.decode())
    if dtype.is_complex:
        values = torch.view_as_complex(values.reshape(-1, 2))
    return values.to(dtype).reshape(shape)  # all are representable in it


def generate_here(fill: Fill, dtype: torch.dtype, shape: list[int], salt: int = 0) -> torch.Tensor:
    """generate() without the library."""
    count = math.prod(shape) * (2 if dtype.is_complex else 1)
    kind, seed = fill["kind"], int(fill.get("seed", 0))
    if kind not in ("arange", "literal"):
        seed = _salted(seed, salt)
    index = torch.arange(count, dtype=torch.int64)
    h = _mix(_signed(seed) + (index + 1) * _signed(_GAMMA))
    integral = not (dtype.is_floating_point or dtype.is_complex)
    listed = _listed(fill)
    if integral:
        listed = _to_integers(listed, dtype)
    if kind == "literal":
        values = listed.expand(count).clone() if len(listed) == 1 else listed
    elif kind == "choice":
        values = listed[_remainder(_shift(h, 1), len(listed))]
    elif kind == "arange":
        values = real(fill.get("scale", 1.0)) * index.double() + real(fill.get("shift", 0.0))
    else:
        values = _drawn(kind, fill, h)
    if integral:
        values = _to_integers(values, dtype)
    rate = int(fill.get("special_rate", 0))
    if rate > 0 and kind in ("normal", "uniform", "exponent", "integer"):
        h2 = _mix(h ^ _signed(seed))
        special = listed[_remainder(_shift(h2, 16), len(listed))]
        values = torch.where((h2 & 0xFFFF) < rate, special, values)
    return _converted(values, dtype, fill.get("grid", "float64")).reshape(shape)


def _to_integers(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Doubles truncated and wrapped modulo 2^64, not-finite ones to 0; bool is value != 0."""
    if dtype == torch.bool:
        return (values != 0).to(torch.int64)
    if not values.is_floating_point():
        return values
    whole = torch.fmod(torch.trunc(torch.nan_to_num(values, 0.0, 0.0, 0.0)), 2.0**64)
    whole = torch.where(whole >= 2.0**63, whole - 2.0**64, whole)
    whole = torch.where(whole < -(2.0**63), whole + 2.0**64, whole)
    return whole.to(torch.int64)


def _converted(values: torch.Tensor, dtype: torch.dtype, grid: str) -> torch.Tensor:
    if dtype.is_complex:
        parts = _rounded(values.double(), dtype, grid)
        parts = parts.to(torch.float64 if dtype == torch.complex128 else torch.float32)
        return torch.view_as_complex(parts.reshape(-1, 2))
    if dtype.is_floating_point:
        return _rounded(values.double(), dtype, grid).to(dtype)
    return values.to(dtype)  # integers wrap
