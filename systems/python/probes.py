"""Remembers from one host to the next which vector units work.

Inductor asks by building a library and loading it in a new interpreter, for each of six units: ten
seconds a process. The answer hangs on the question, the compiler and the processor alone.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path


def _machine() -> str:
    from torch._inductor import cpp_builder

    compiler = cpp_builder.get_compiler_version_info(cpp_builder.get_cpp_compiler())
    with open("/proc/cpuinfo") as cpuinfo:
        flags = next((line for line in cpuinfo if line.startswith("flags")), "")
    return compiler + flags


def _write(path: Path, text: str) -> None:
    """At once or not at all: two hosts may start at the same time."""
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.replace(temporary, path)


def remember(folder: Path) -> None:
    """Answers are taken from `folder`, which also holds what is specific to a version of torch."""
    from torch._inductor import cpu_vec_isa

    folder.mkdir(parents=True, exist_ok=True)
    machine, check_build = _machine(), cpu_vec_isa.VecISA.check_build

    def remembered(isa: cpu_vec_isa.VecISA, code: str) -> bool:
        question = "\0".join((machine, isa.build_arch_flags(), code))
        path = folder / hashlib.sha256(question.encode()).hexdigest()
        if path.exists():
            return path.read_text() == "yes"
        answer = check_build(isa, code)
        _write(path, "yes" if answer else "no")
        return answer

    cpu_vec_isa.VecISA.check_build = remembered  # type: ignore[method-assign]
