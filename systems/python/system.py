"""What a system under test is to this worker; ../kinds.cc lists the names, compilers.py the entries."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from environment import Environment
from execute import Pack, Program, StandIn, packed
from modules import ModuleProgram

Counters = dict[str, int]
Options = dict[str, str]
Function = Callable[..., Any]


@dataclass(frozen=True)
class System:
    compiles: bool
    # The pack as this system runs it.
    make: Callable[[list[Program], Environment, Options], Pack]
    # Makes the system usable, once in the life of a process; `fully` where it is going to fork many
    # children. The folder outlives it. Raises ImportError where the system cannot be used.
    warm_up: Callable[[Path, bool], None]
    # From now on it compiles the same code in less time, where this torch has a way.
    quicken: Callable[[], None]
    # Forgets what it compiled.
    reset: Callable[[], None]
    # What it counted since the last reset; of a compiler, "graphs" is the proof of a compile.
    counters: Callable[[], Counters]
    # Calls the first with the stage when a compile begins inside of a call, the second at its end.
    observe: Callable[[Callable[[str], None], Callable[[], None]], None]
    versions: Callable[[], dict[str, str]]
    # Whole executions, on fresh inputs and thrown away, that belong to the compile: of a system that
    # compiles as it runs and does not say when.
    rehearsals: int = 0
    # Of a system whose code another worker runs: the program, compiled for such inputs, as that worker
    # takes it. `make` is not called then.
    package: Callable[[Program, list[torch.Tensor], Environment, Options], bytes] | None = None
    # Of its options, what must be set for its kernels to be seen (attest.py).
    attesting: Callable[[Options], Options] = lambda options: {}
    # Of a system that works with other tensors, or under a mode in the backward pass too.
    stand_in: StandIn | None = None


def as_one(programs: list[Program], compiled: Callable[[Function], Function]) -> Pack:
    """The pack as one function under `compiled`; a program alone as a user would write it, of a
    module the step around it."""
    if len(programs) > 1:
        return compiled(packed(programs))
    program = programs[0]
    of_module = isinstance(program, ModuleProgram)
    alone = program.under(compiled) if of_module else compiled(program)
    return lambda inputs: [alone(*inputs[0])]


def literal(text: str) -> Any:
    """The value that an option's text means."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False}.get(text.lower(), text)


def only(system: str, options: Options, *known: str) -> None:
    """Refuses an option that would be ignored."""
    if unknown := sorted(set(options) - set(known)):
        has = ", ".join(known) or "none"
        raise ValueError(f"{system} has no option {', '.join(unknown)}; it has {has}")
