"""The process that does one run: stages, limits, faults, and the result frame."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import sys
import time
from dataclasses import replace
from typing import Any

import torch

import attest
import faults
from compilers import SYSTEMS
from environment import Environment
from execute import Item, Pack, make_inputs, run_once
from frames import Channel, Message
from results import Description, Elements, describe

_LONGEST_MESSAGE = 16384  # characters of an exception's text
_OUT_OF_MEMORY = ("can't allocate memory", "memory exhausted", "Cannot allocate memory")

Run = dict[str, Any]  # one run of a result frame


class Stages:
    """Says which stage is being entered, and keeps the CPU time of each."""

    def __init__(self, channel: Channel, request: int) -> None:
        self._channel, self._request = channel, request
        self._since = _cpu_seconds()
        self.begin()

    def begin(self) -> None:
        """Starts to count anew."""
        self.current = "start"
        self.cpu_seconds: dict[str, float] = {}
        self._started = time.monotonic()

    def enter(self, stage: str) -> None:
        if stage != self.current:
            self.account()
            self.current = stage
            self._channel.send({"type": "stage", "id": self._request, "stage": stage})

    def account(self) -> None:
        """Books the CPU time since the last call on the current stage."""
        now = _cpu_seconds()
        self.cpu_seconds[self.current] = self.cpu_seconds.get(self.current, 0.0) + now - self._since
        self._since = now

    def wall_seconds(self) -> float:
        return time.monotonic() - self._started


def _cpu_seconds() -> float:
    """Of this process and of what it has waited for (compilers)."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def versions() -> dict[str, str]:
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }


def set_limits(limits: dict[str, Any]) -> None:
    """CPU seconds, and memory beyond what is mapped now. SIGXCPU ends the process."""
    if seconds := limits.get("cpu_seconds"):
        soft = max(1, round(seconds))
        resource.setrlimit(resource.RLIMIT_CPU, (soft, soft + 5))
    if memory := limits.get("memory_bytes"):
        with open("/proc/self/statm") as statm:
            mapped = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (mapped + int(memory), hard))


def lift_memory_limit() -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


class OutOfMemory(Exception):
    """An allocation failed under the limit."""


class Job:
    """One run request in the child that serves it."""

    def __init__(self, channel: Channel, request: Message) -> None:
        self._channel, self._request = channel, request
        self._system = SYSTEMS[request["system"]]
        if not request["stock"]:
            self._system.quicken()
        self._environment = Environment.of(request["environment"])
        self._options = dict(request["options"])
        self._fault = self._options.pop("fault", "")
        faults.before_compile(self._fault)
        self._environment = faults.on_environment(self._fault, self._environment)
        if request["profile"]:
            self._options |= self._system.attesting(self._options)
        self._stages = Stages(channel, request["id"])
        stand_in = self._system.stand_in
        self._elements = Elements(stand_in is None or stand_in.has_values)
        self._phase = "forward"

    def run(self) -> None:
        """Sends exactly one `result` or `memory`."""
        specs = self._request["items"]
        # Programs that are compiled together share a fate; others have one each.
        packs = [specs] if self._system.compiles else [[spec] for spec in specs]
        try:
            runs = [run for pack in packs for run in self._run_pack(pack)]
        except OutOfMemory:
            lift_memory_limit()
            self._channel.send({"type": "memory", "id": self._request["id"]})
            return
        lift_memory_limit()
        message = {"type": "result", "id": self._request["id"], "runs": runs, "fds": 1}
        if self._fault == "bad-frame" and self._system.package is None:
            self._channel.send_text(b"{not json")
        else:
            self._channel.send(message, [self._elements.fd])

    def _run_pack(self, specs: list[Message]) -> list[Run]:
        """One run for each item; what a system raises is its answer, to all of them."""
        common: Run = {"status": "completed", "stage": "end", "kernels": [], "counters": {}}
        executions: list[list[Run]] = [[] for _ in specs]
        call: Pack | None = None
        items: list[Item] = []
        self._stages.begin()
        try:
            self._stages.enter("build")
            self._environment.apply()
            items = [Item.of(spec, number) for number, spec in enumerate(specs)]
            if self._system.package is not None:
                common["status"] = "packaged"
                self._package(items)
            else:
                call = self._prepare(items)
                self._execute(call, items, executions)
            common["counters"] = self._system.counters()
            if self._request["profile"] and self._system.package is None:
                common["kernels"] = self._attest(call, items)
            if self._system.compiles and common["counters"]["graphs"] == 0:
                common["status"] = "not-compiled"
        except Exception as error:
            if isinstance(error, MemoryError) or any(t in str(error) for t in _OUT_OF_MEMORY):
                raise OutOfMemory from error
            executions = [[] for _ in specs]
            message = str(error)[:_LONGEST_MESSAGE]
            common["status"] = "raised"
            common["exception"] = {"type": type(error).__name__, "message": message}
            common["stage"] = self._stages.current
            if self._request["profile"] and call and common["stage"] in ("forward", "backward"):
                common["kernels"] = self._attest(call, items, raises=True)
        self._stages.account()
        spent = self._stages.cpu_seconds
        common |= {
            "versions": versions() | self._system.versions(),
            "cpu_seconds": {stage: seconds / len(specs) for stage, seconds in spent.items()},
            "wall_seconds": self._stages.wall_seconds(),
        }
        return [common | {"executions": done} for done in executions]

    def _prepare(self, items: list[Item]) -> Pack:
        """The pack as the system runs it; a compiler compiles on the first call."""
        programs = [item.program for item in items]
        environment = self._environment
        self._system.observe(self._stages.enter, self._left_compilation)
        if self._system.compiles and environment.caching:
            # What a process does that has tried another choice before, caches on.
            self._stages.enter("prime")
            before = replace(environment, sdpa=environment.primed_by or environment.sdpa)
            self._phase = "prime"
            with contextlib.suppress(Exception):  # that choice may have no kernel, in eager neither
                run_once(self._system.make(programs, before, self._options), items, 0, before)
            self._system.reset()  # forgets who observes, too
            self._system.observe(self._stages.enter, self._left_compilation)
        call = self._system.make(programs, environment, self._options)
        for _ in range(self._system.rehearsals):
            self._stages.enter("compile")
            self._phase = "compile"
            run_once(call, items, 0, environment)
        return call

    def _package(self, items: list[Item]) -> None:
        """The memfd gets the package; there is one, so there is one item."""
        (item,) = items
        make, environment = self._system.package, self._environment
        assert make is not None
        inputs = make_inputs(item, item.input_sets[0], environment.device)
        if environment.caching:
            self._stages.enter("prime")
            before = replace(environment, sdpa=environment.primed_by or environment.sdpa)
            with contextlib.suppress(Exception):
                make(item.program, inputs, before, self._options)
            self._system.reset()
        self._stages.enter("compile")
        self._elements.write(make(item.program, inputs, environment, self._options))

    def _execute(self, call: Pack, items: list[Item], executions: list[list[Run]]) -> None:
        for turn in range(max(len(item.input_sets) for item in items)):
            self._watch("forward")
            faults.before_forward(self._fault)
            outcomes = run_once(
                call, items, turn, self._environment, self._watch, self._system.stand_in
            )
            for item, outcome, done in zip(items, outcomes, executions):
                if turn < len(item.input_sets):
                    faults.on_values(self._fault, outcome)
                    tensors: list[Description] = describe(
                        item, outcome, self._elements, self._environment.grad
                    )
                    faults.on_descriptions(self._fault, tensors)
                    done.append({"input_set": str(item.input_sets[turn]), "tensors": tensors})

    def _attest(self, call: Pack, items: list[Item], raises: bool = False) -> list[Run]:
        """Kernels of one more execution; of one that raises, as far as it comes."""
        self._stages.enter("profile")
        kernels = attest.Kernels()
        with contextlib.suppress(Exception) if raises else contextlib.nullcontext():
            run_once(
                call, items, 0, self._environment, kernels.watch, self._system.stand_in
            )
        return kernels.found()

    def _watch(self, phase: str) -> contextlib.AbstractContextManager[None]:
        self._phase = phase
        self._stages.enter(phase)
        return contextlib.nullcontext()

    def _left_compilation(self) -> None:
        """Back to the phase that asked for a compile; a failed one stays the stage."""
        if sys.exc_info()[0] is None:
            self._stages.enter(self._phase)
