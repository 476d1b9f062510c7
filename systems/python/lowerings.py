"""What Inductor lowers, and where it falls back, counted for fuzzers that keep cases by it."""

from __future__ import annotations

import functools
import os
from typing import Any

from system import Counters

LOWERED, FALLEN_BACK = "ulpfuzz lowered", "ulpfuzz fallback"


def wanted() -> bool:
    return os.environ.get("ULPFUZZ_OBSERVE") == "1"


def watch() -> None:
    """Counts in torch's own counters, which a reset clears. Changes nothing of what is compiled."""
    from torch._dynamo.utils import counters
    from torch._inductor.graph import GraphLowering
    from torch._inductor.ir import FallbackKernel

    lower, fall_back = GraphLowering.call_function, FallbackKernel.create

    @functools.wraps(lower)
    def counted_lowering(self: Any, target: Any, args: Any, kwargs: Any) -> Any:
        counters[LOWERED][str(target)] += 1
        return lower(self, target, args, kwargs)

    @functools.wraps(fall_back)
    def counted_fallback(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        counters[FALLEN_BACK][str(kernel)] += 1
        return fall_back(kernel, *args, **kwargs)

    GraphLowering.call_function = counted_lowering
    FallbackKernel.create = counted_fallback


def counted() -> Counters:
    from torch._dynamo.utils import counters, get_compilation_metrics
    from torch._inductor import metrics

    found = {f"lowered {name}": count for name, count in counters[LOWERED].items()}
    found |= {f"fallback {name}": count for name, count in counters[FALLEN_BACK].items()}
    last = get_compilation_metrics()[-1:]
    found["guards"] = (last[0].guard_count or 0) if last else 0
    found["patterns_matched"] = counters["inductor"]["pattern_matcher_count"]
    found["nodes_before_fusion"] = metrics.ir_nodes_pre_fusion
    found["outer_loops_fused"] = len(metrics.cpp_outer_loop_fused_inner_counts)
    found["loops_reordered"] = metrics.num_loop_reordering
    found["casts"] = metrics.cpp_to_dtype_count
    found["parallel_reductions"] = metrics.parallel_reduction_count
    return {name: int(count) for name, count in found.items()}
