"""Other formulas for the same functions: what kernels may legally do.

Each takes the operands in the type that is computed in, float32 for half types, and gives the results in
it, or None where it has nothing to say and ATen's own kernel should answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from synthetic_draw import Draw, nudged, product, total

Values = Tensor | tuple[Tensor | None, ...] | None
Formula = Callable[..., Values]

# ---- pointwise ---------------------------------------------------------------------------------


def _sigmoid(draw: Draw, x: Tensor) -> Tensor:
    by_exp = 1 / (1 + nudged(draw, torch.exp(-x)))
    if draw.chance():
        return by_exp
    # For large negative x the sum would cancel.
    return torch.where(x > -1, 0.5 * torch.tanh(0.5 * x) + 0.5, by_exp)


def _silu(draw: Draw, x: Tensor) -> Tensor:
    return x * _sigmoid(draw, x) if draw.chance() else x / (1 + nudged(draw, torch.exp(-x)))


def _rsqrt(draw: Draw, x: Tensor) -> Tensor | None:
    return 1 / torch.sqrt(x) if draw.chance() else None


_POWERS: dict[float, Callable[[Tensor], Tensor]] = {
    2: lambda x: x * x,
    3: lambda x: x * x * x,
    0.5: torch.sqrt,
    -0.5: lambda x: 1 / torch.sqrt(x),
    -1: lambda x: 1 / x,
    -2: lambda x: 1 / (x * x),
}


def _power(draw: Draw, x: Tensor, exponent: float) -> Tensor | None:
    other = _POWERS.get(exponent)
    return other(x) if other is not None and draw.chance() else None


def _quotient(draw: Draw, x: Tensor, y: Any) -> Tensor | None:
    """By a number, GPUs multiply by the reciprocal (ATen's div_true_kernel_cuda)."""
    if isinstance(y, Tensor) or not 2.0**-100 < abs(y) < 2.0**100 or not draw.chance():
        return None
    return x * (1 / torch.tensor(y, dtype=x.dtype)).to(x.device)


# ---- reductions --------------------------------------------------------------------------------


def _cast(x: Tensor, dtype: torch.dtype | None) -> Tensor | None:
    """The operand of a reduction; None of one that does not add up floating numbers."""
    wide = x if dtype is None else x.to(dtype)
    return wide if wide.is_floating_point() else None


def _sum(
    draw: Draw, x: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor | None:
    terms = _cast(x, dtype)
    return None if terms is None else total(draw, terms, dim, keepdim)


def _divided(draw: Draw, x: Tensor, n: float) -> Tensor:
    return x * (1 / n) if draw.chance() else x / n


def _count(x: Tensor, dim: Sequence[int] | None) -> int:
    return math.prod(x.shape[d] for d in dim) if dim and x.dim() else x.numel()


def _mean(
    draw: Draw, x: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor | None:
    terms, n = _cast(x, dtype), _count(x, dim)
    if terms is None or n == 0:
        return None
    return _divided(draw, total(draw, terms, dim, keepdim), n)


def _var(
    draw: Draw, x: Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> Tensor | None:
    n = _count(x, dim)
    divisor = n - (1 if correction is None else correction)
    if divisor <= 0:
        return None
    dims = list(dim) if dim else list(range(x.dim()))
    centred = x - _divided(draw, total(draw, x, dims, True), n)
    return total(draw, centred * centred, dims, keepdim) / divisor


def _std(draw: Draw, x: Tensor, dim: Any = None, **how: Any) -> Tensor | None:
    variance = _var(draw, x, dim, **how)
    return None if variance is None else torch.sqrt(variance)


def _norm(
    draw: Draw, x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor | None:
    terms = _cast(x, dtype)
    if terms is None or ord != 2 or terms.numel() == 0:
        return None
    return torch.sqrt(total(draw, terms * terms, dim, keepdim))


def _cumsum(draw: Draw, x: Tensor, dim: int, *, dtype: Any = None) -> Tensor | None:
    """Blocks by themselves, then what came before is added to each."""
    terms = _cast(x, dtype)
    if terms is None or terms.dim() == 0 or terms.numel() == 0:
        return None
    blocks: list[Tensor] = []
    for block in terms.split(draw.pieces(terms.shape[dim]), dim):
        sums = torch.cumsum(block, dim)
        blocks.append(sums + blocks[-1].narrow(dim, -1, 1) if blocks else sums)
    return torch.cat(blocks, dim)


def _exponentials(draw: Draw, x: Tensor, dims: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """x - max, its exponential, and the sum of that."""
    shifted = x - x.amax(dims, keepdim=True)
    e = nudged(draw, torch.exp(shifted))
    return shifted, e, total(draw, e, dims, True)


def _softmax(draw: Draw, x: Tensor, dim: int, half_to_float: bool = False) -> Tensor | None:
    if x.numel() == 0 or x.dim() == 0:
        return None
    _, e, s = _exponentials(draw, x, [dim])
    return e * (1 / s) if draw.chance() else e / s


def _log_softmax(draw: Draw, x: Tensor, dim: int, half_to_float: bool = False) -> Tensor | None:
    if x.numel() == 0 or x.dim() == 0:
        return None
    shifted, _, s = _exponentials(draw, x, [dim])
    return shifted - torch.log(s)


def _logsumexp(draw: Draw, x: Tensor, dim: Any, keepdim: bool = False) -> Tensor | None:
    if x.numel() == 0 or x.dim() == 0 or not torch.isfinite(x).all():
        return None
    dims = list(dim) if dim else list(range(x.dim()))
    shift = x.amax(dims, keepdim=True)
    result = shift + torch.log(total(draw, torch.exp(x - shift), dims, True))
    return result if keepdim else result.amax(dims)


def _softmax_backward(draw: Draw, g: Tensor, y: Tensor, dim: int, input_dtype: Any) -> Tensor | None:
    if y.numel() == 0 or y.dim() == 0:
        return None
    weighted = g * y
    s = total(draw, weighted, [dim], True)
    return weighted - y * s if draw.chance() else y * (g - s)


def _log_softmax_backward(
    draw: Draw, g: Tensor, y: Tensor, dim: int, input_dtype: Any
) -> Tensor | None:
    if y.numel() == 0 or y.dim() == 0:
        return None
    return g - torch.exp(y) * total(draw, g, [dim], True)


def _layer_norm(
    draw: Draw, x: Tensor, shape: Sequence[int], weight: Any, bias: Any, eps: float
) -> Values:
    if x.numel() == 0:
        return None
    dims = list(range(x.dim() - len(shape), x.dim()))
    n = math.prod(shape)
    mean = _divided(draw, total(draw, x, dims, True), n)
    centred = x - mean
    variance = _divided(draw, total(draw, centred * centred, dims, True), n)
    rstd = 1 / torch.sqrt(variance + eps) if draw.chance() else torch.rsqrt(variance + eps)
    y = centred * rstd
    if weight is not None:
        y = y * weight
    return (y if bias is None else y + bias), mean, rstd


# ---- products of matrices ----------------------------------------------------------------------


def _mm(draw: Draw, a: Tensor, b: Tensor) -> Tensor:
    return product(draw, a, b)


def _mv(draw: Draw, a: Tensor, x: Tensor) -> Tensor:
    return product(draw, a, x.unsqueeze(-1)).squeeze(-1)


def _dot(draw: Draw, x: Tensor, y: Tensor) -> Tensor:
    return total(draw, x * y)


def _addmm(draw: Draw, c: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """In one kernel, where the sum is rounded once, or as a compiler splits it: a product, then a sum."""
    terms = product(draw, a, b)
    if draw.fuses and draw.chance(0.25):
        terms = terms.to(draw.nominal).to(terms.dtype)
    if alpha != 1:
        terms = alpha * terms
    if beta == 0:
        return terms
    return terms + (c if beta == 1 else beta * c)


# ---- scattered sums ----------------------------------------------------------------------------


def _index_add(
    draw: Draw, x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1
) -> Tensor | None:
    """In float32, where ATen adds up in the half type; what falls on one place in another order."""
    if index.numel() < 2 or index.dim() != 1 or source.dim() == 0 or not draw.chance():
        return None
    order = draw.order(index.numel(), index.device)
    return torch.index_add(x, dim, index[order], source.index_select(dim, order), alpha=alpha)


def _scatter_add(draw: Draw, x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor | None:
    return torch.scatter_add(x, dim, index, src) if draw.chance() else None


def _embedding_backward(
    draw: Draw, g: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale: bool
) -> Tensor | None:
    if scale or indices.numel() < 2 or not draw.chance():
        return None
    order = draw.order(indices.numel(), g.device)
    rows = g.reshape(indices.numel(), g.shape[-1])[order]
    picked = indices.flatten()[order]
    rows = torch.where((picked == padding_idx).unsqueeze(-1), torch.zeros_like(rows), rows)
    return rows.new_zeros(num_weights, g.shape[-1]).index_add(0, picked, rows)


# ---- attention ---------------------------------------------------------------------------------


def _scores(
    draw: Draw, q: Tensor, k: Tensor, is_causal: bool, attn_mask: Tensor | None, scale: float | None
) -> Tensor:
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    keys = k.transpose(-2, -1)
    s = product(draw, q * factor, keys) if draw.chance() else product(draw, q, keys) * factor
    if is_causal:
        seen = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).tril()
        s = s.masked_fill(~seen, -torch.inf)
    if attn_mask is None:
        return s
    masked = s.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else s + attn_mask
    return masked


def _as_many_heads(k: Tensor, q: Tensor) -> Tensor:
    return k.repeat_interleave(q.shape[1] // k.shape[1], 1) if k.shape[1] != q.shape[1] else k


def _attention(
    draw: Draw,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Values:
    if dropout_p or q.numel() == 0 or k.numel() == 0:
        return None
    k, v = _as_many_heads(k, q), _as_many_heads(v, q)
    s = _scores(draw, q, k, is_causal, attn_mask, scale)
    if not torch.isfinite(s.amax(-1)).all():  # a row that sees nothing, or an overflow
        return None
    shift = s.amax(-1, keepdim=True)
    e = nudged(draw, torch.exp(s - shift))
    sums = total(draw, e, [-1], True)
    out = product(draw, e, v) / sums if draw.chance() else product(draw, e / sums, v)
    return out, (shift + torch.log(sums)).squeeze(-1)


def _attention_backward(
    draw: Draw,
    g: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Values:
    """Flash's: the row sums of dP * P from the result as it was rounded."""
    if dropout_p or q.numel() == 0 or k.numel() == 0 or k.shape[1] != q.shape[1]:
        return None
    if not torch.isfinite(logsumexp).all():
        return None
    s = _scores(draw, q, k, is_causal, attn_mask, scale)
    p = torch.exp(s - logsumexp.unsqueeze(-1))
    dp = product(draw, g, v.transpose(-2, -1))
    ds = p * (dp - total(draw, g * out, [-1], True))
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    dq = product(draw, ds, k) * factor
    dk = product(draw, ds.transpose(-2, -1), q) * factor
    return dq, dk, product(draw, p.transpose(-2, -1), g)


# Of kernels that stay kernels of their own in a fused program: operands and results are rounded.
EXTERN: dict[str, Formula] = {
    "aten.mm.default": _mm,
    "aten.bmm.default": _mm,
    "aten.mv.default": _mv,
    "aten.dot.default": _dot,
    "aten.addmm.default": _addmm,
    "aten.baddbmm.default": _addmm,
    "aten.index_add.default": _index_add,
    "aten.scatter_add.default": _scatter_add,
    "aten.embedding_dense_backward.default": _embedding_backward,
    "aten._scaled_dot_product_flash_attention_for_cpu.default": _attention,
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default": _attention_backward,
}

FUSED: dict[str, Formula] = {
    "aten.sigmoid.default": _sigmoid,
    "aten.silu.default": _silu,
    "aten.rsqrt.default": _rsqrt,
    "aten.pow.Tensor_Scalar": _power,
    "aten.div.Tensor": _quotient,
    "aten.sum.default": _sum,
    "aten.sum.dim_IntList": _sum,
    "aten.mean.default": _mean,
    "aten.mean.dim": _mean,
    "aten.var.correction": _var,
    "aten.std.correction": _std,
    "aten.linalg_vector_norm.default": _norm,
    "aten.cumsum.default": _cumsum,
    "aten._softmax.default": _softmax,
    "aten._log_softmax.default": _log_softmax,
    "aten.logsumexp.default": _logsumexp,
    "aten._softmax_backward_data.default": _softmax_backward,
    "aten._log_softmax_backward_data.default": _log_softmax_backward,
    "aten.native_layer_norm.default": _layer_norm,
}

# Functions whose float32 results differ by an ulp from library to library. Not those that give an operand
# back where another term vanishes, as softplus and hypot do.
FUNCTIONS = frozenset(
    f"aten.{name}.default"
    for name in (
        "acos acosh asin asinh atan atanh atan2 cos cosh digamma erf erfc exp exp2 expm1 lgamma log "
        "log10 log1p log2 sin sinh tan tanh sigmoid"
    ).split()
)
