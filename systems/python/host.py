"""The Python worker: serves systems that live in Python to the supervisor (systems/PROTOCOL.md).

    python host.py --fd N

It warms up single-threaded and forks a child for each run. A child of a process that has ever run an
OpenMP region would hang, so no run is served from a process with more than one thread.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import platform
import shutil
import signal
import sys
from importlib.metadata import version
from pathlib import Path

PROTOCOL = 1
_PR_SET_PDEATHSIG = 1
_ISA_VARIABLE = "ATEN_CPU_CAPABILITY"
_CACHE_VARIABLES = (
    "TORCHINDUCTOR_FX_GRAPH_CACHE",
    "TORCHINDUCTOR_AUTOGRAD_CACHE",
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
)


def die_with_parent(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


def cache_folder() -> Path:
    """What outlives a host: probes of the compiler and of the processor, per user and version."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "ulpfuzz" / f"torch-{version('torch')}-python-{platform.python_version()}"


def prepare_environment() -> Path:
    """Environment variables that torch reads on import. Returns the cache folder."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no pool of processes is left behind
        "OPENBLAS_NUM_THREADS": "1",  # numpy's: its pool would start on import
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # asks for a GPU without starting one
    }
    for name in _CACHE_VARIABLES:  # they would overrule what each run asks for
        os.environ.pop(name, None)
    fast_linker = Path("/usr/libexec/mold")
    if (fast_linker / "ld").exists():  # a quarter of g++'s time for a small kernel is linking
        known = os.environ.get("COMPILER_PATH")
        os.environ["COMPILER_PATH"] = f"{fast_linker}:{known}" if known else str(fast_linker)
    return folder


folder = prepare_environment()

import torch  # noqa: E402

import modules  # noqa: E402
from capture import Capture  # noqa: E402
from child import Job, set_limits, versions  # noqa: E402
from compilers import SYSTEMS  # noqa: E402
from frames import Channel, Message  # noqa: E402
from importing import Import  # noqa: E402
from kernel_export import Export  # noqa: E402


# Types of requests, and what answers each in a child.
SERVED = {"run": Job, "capture": Capture, "import": Import, "kernels": Export}


def threads_of_this_process() -> int:
    return len(os.listdir("/proc/self/task"))


class Host:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._warm: set[str] = set()
        self._runs = folder / "runs" / str(os.getpid())
        self._sweep()

    def serve(self) -> None:
        message = self._channel.receive()
        while message is not None and message["type"] != "bye":
            if message["type"] not in SERVED:
                raise ValueError(f"unknown type of message: {message['type']}")
            self._run(message)
            message = self._channel.receive()
        shutil.rmtree(self._runs, ignore_errors=True)

    def _run(self, request: Message) -> None:
        isa = request["environment"]["isa"]
        if isa not in ("native", os.environ.get(_ISA_VARIABLE)):
            raise ValueError(f"asked for isa {isa}, but {_ISA_VARIABLE} was read when torch came")
        fresh = request["environment"]["device"] != "cpu"  # no fork where a GPU may be in use
        if not fresh:
            try:
                self._warm_up(request["system"])
                self._import_modules(request["items"])
            except ImportError as error:
                self._channel.send({"type": "refused", "id": request["id"], "why": str(error)})
                return
        self._fork(request, fresh)

    def _warm_up(self, system: str) -> None:
        if system in self._warm:
            return
        SYSTEMS[system].warm_up(folder, True)
        self._warm.add(system)
        gc.collect()
        gc.freeze()  # a child's collector would copy every page

    def _import_modules(self, items: list[Message]) -> None:
        """Libraries of modules take seconds to import: once, not in every child."""
        for wire in (item["module"] for item in items if "module" in item):
            if wire["module"] not in self._warm:
                modules.prepare(wire)
                self._warm.add(wire["module"])
                gc.collect()
                gc.freeze()

    def _fork(self, request: Message, fresh: bool) -> None:
        if threads_of_this_process() != 1:
            raise RuntimeError("the host has more than one thread: a forked child would hang")
        shutil.rmtree(self._runs, ignore_errors=True)
        self._runs.mkdir(parents=True)
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            self._child(request, parent, fresh)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        _kill_group(child)  # whatever it has left behind; the zombie still holds the number
        _, status, usage = os.wait4(child, 0)
        done = {
            "type": "done",
            "id": request["id"],
            "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "max_rss_bytes": usage.ru_maxrss * 1024,
        }
        self._channel.send(done)

    def _child(self, request: Message, parent: int, fresh: bool) -> None:
        os.setsid()
        die_with_parent(parent)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(self._runs)
        self._channel.send({"type": "started", "id": request["id"], "pid": os.getpid()})
        if fresh:
            _execute_anew(self._channel, request)
        work(self._channel, request)

    def _sweep(self) -> None:
        """Folders of hosts that were killed."""
        for left in (folder / "runs").glob("*"):
            if not Path(f"/proc/{left.name}").exists():
                shutil.rmtree(left, ignore_errors=True)


def work(channel: Channel, request: Message) -> None:
    """The child's whole life from here on."""
    code = 1
    gc.disable()  # it ends soon
    try:
        set_limits(request.get("limits", {}))
        SERVED[request["type"]](channel, request).run()
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _execute_anew(channel: Channel, request: Message) -> None:
    """This process becomes a new interpreter, which serves `request` and ends."""
    memory = os.memfd_create("ulpfuzz-request", 0)
    with os.fdopen(os.dup(memory), "w") as text:
        json.dump(request, text)
    os.set_inheritable(channel.fileno(), True)
    arguments = [sys.executable, __file__, "--fd", str(channel.fileno()), "--request", str(memory)]
    os.execv(sys.executable, arguments)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True, help="socket to the supervisor")
    parser.add_argument("--request", type=int, help="descriptor of the one run to serve")
    arguments = parser.parse_args()
    channel = Channel(arguments.fd)
    os.set_inheritable(arguments.fd, False)
    torch.set_num_threads(1)
    if arguments.request is not None:
        os.lseek(arguments.request, 0, os.SEEK_SET)
        with os.fdopen(arguments.request) as text:
            request = json.load(text)
        SYSTEMS[request["system"]].warm_up(folder, False)
        # A GPU's address space is mapped before the memory limit is set.
        torch.zeros(1, device=request["environment"]["device"])
        work(channel, request)
    die_with_parent(os.getppid())
    about = {"systems": sorted(SYSTEMS), "versions": versions()}
    channel.send({"type": "hello", "protocol": PROTOCOL, "worker": "python"} | about)
    Host(channel).serve()


if __name__ == "__main__":
    main()
