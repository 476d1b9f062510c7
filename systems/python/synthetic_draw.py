"""What synthetic executions draw, and sums in another order each time."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

_LONGEST_CHAIN = 24  # pieces of a sum that are added one after the other


class Draw:
    """Random decisions, all from one key; torch's own generators are left alone."""

    def __init__(self, key: int, fuses: bool) -> None:
        self.fuses = fuses  # as compilers do; else as eager mode does
        self.nominal = torch.float32  # dtype of the operator's first floating operand, as given
        self._decide = random.Random(key)
        self._fill = torch.Generator().manual_seed(key & (2**63 - 1))

    def chance(self, probability: float = 0.5) -> bool:
        return self._decide.random() < probability

    def shuffled(self, items: Sequence[Any]) -> list[Any]:
        return self._decide.sample(items, len(items))

    def order(self, n: int, device: torch.device) -> Tensor:
        return torch.randperm(n, generator=self._fill).to(device)

    def steps(self, like: Tensor) -> Tensor:
        """-1, 0 or 1 for each element."""
        drawn = torch.randint(-1, 2, like.shape, generator=self._fill, dtype=torch.int8)
        return drawn.to(like.device)

    def pieces(self, n: int) -> list[int]:
        """Sizes that add up to n: one piece, blocks of one size, or any."""
        kind = self._decide.randrange(4)
        if n < 2 or kind == 0:
            return [n]
        if kind == 1:
            size = max(2 ** self._decide.randrange(10), -(-n // _LONGEST_CHAIN))
            return [min(size, n - start) for start in range(0, n, size)]
        if kind == 2 and n <= _LONGEST_CHAIN:
            return [1] * n
        cuts = {self._decide.randrange(1, n) for _ in range(self._decide.randint(1, 7))}
        ends = sorted(cuts | {n})
        return [end - start for start, end in zip([0, *ends], ends)]


# ---- sums --------------------------------------------------------------------------------------


def _added(draw: Draw, parts: list[Tensor]) -> Tensor:
    """Partial sums, one after the other or in pairs."""
    parts = draw.shuffled(parts)
    if draw.chance():
        while len(parts) > 1:
            halves = [a + b for a, b in zip(parts[::2], parts[1::2])]
            parts = halves + parts[2 * len(halves) :]
        return parts[0]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def total(draw: Draw, x: Tensor, dims: Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """A sum over `dims` (none: all), in another order."""
    rank = x.dim()
    over = sorted({d % rank for d in dims}) if rank and dims else list(range(rank))
    kept = [d for d in range(rank) if d not in over]
    n = math.prod(x.shape[d] for d in over)
    if not over or n < 2:
        return x.sum(over, keepdim) if over else x.clone()
    lines = x.permute(kept + over).reshape([x.shape[d] for d in kept] + [n])
    if draw.chance():
        lines = lines.index_select(-1, draw.order(n, x.device))
    result = _added(draw, [piece.sum(-1) for piece in lines.split(draw.pieces(n), -1)])
    return result.reshape([1 if d in over else s for d, s in enumerate(x.shape)]) if keepdim else result


def product(draw: Draw, a: Tensor, b: Tensor) -> Tensor:
    """a @ b of two dimensions or more, the inner one in pieces."""
    n = a.shape[-1]
    if n < 2:
        return torch.matmul(a, b)
    if draw.chance():
        order = draw.order(n, a.device)
        a, b = a.index_select(-1, order), b.index_select(-2, order)
    sizes = draw.pieces(n)
    return _added(draw, [torch.matmul(p, q) for p, q in zip(a.split(sizes, -1), b.split(sizes, -2))])


def nudged(draw: Draw, y: Tensor) -> Tensor:
    """Results of a function that is good to an ulp or so: float32 elements moved by one at random.
    0, 1 and -1 stay, as every library gives them where they are exact."""
    if y.dtype != torch.float32 or not draw.chance():
        return y
    step = draw.steps(y)
    to = torch.where(step > 0, torch.inf, -torch.inf)
    moves = (step != 0) & y.isfinite() & (y.abs() != 1) & (y.abs() >= 2.0**-125)
    return torch.where(moves, torch.nextafter(y, to.to(y.dtype)), y)
