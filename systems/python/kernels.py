"""One call of the C++ compiler for all kernels of a graph.

Inductor makes each kernel a library of its own, and each pays for the templates that its header
instantiates: 0.6 CPU seconds, whatever the kernel. Here the kernels of a graph, in the text, under
the flags and with the bindings that Inductor gives them, are namespaces of one translation unit.
A finding is confirmed without this (`"stock": true` in the run message).
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

_Kernel = Callable[..., Any]

# The one function that a kernel's text defines for its bindings.
_ENTRY = re.compile(r'^extern "C"(?:\s+\w+)?\s+void\s+kernel\(', re.MULTILINE)
_INCLUDE = re.compile(r"^\s*#\s*include\b.*$", re.MULTILINE)
_BINDINGS = ("Python.h", "sstream", "cstdlib", "cerrno")


class _Pending:
    """A kernel of a graph whose other kernels are not known yet."""

    def __init__(self, argument_types: list[str], source: str) -> None:
        self.argument_types, self.source = argument_types, source


def join() -> None:
    """From now on, in this process; nothing changes where this torch lacks what it takes."""
    try:
        from torch._inductor.async_compile import AsyncCompile
        from torch._inductor.codecache import CppPythonBindingsCodeCache as Cache

        stock_wait = AsyncCompile.wait
        _ = (AsyncCompile.cpp_pybinding, Cache.suffix_template, Cache.load_async)
    except (ImportError, AttributeError):
        return

    def cpp_pybinding(self: Any, argtypes: list[str], source_code: str) -> _Pending:
        return _Pending(argtypes, source_code)

    def wait(self: Any, scope: dict[str, Any]) -> None:
        waiting = {name: value for name, value in scope.items() if isinstance(value, _Pending)}
        for name, kernel in zip(waiting, _compiled(list(waiting.values()))):
            scope[name] = kernel
        stock_wait(self, scope)

    AsyncCompile.cpp_pybinding, AsyncCompile.wait = cpp_pybinding, wait  # type: ignore[method-assign]


def _compiled(kernels: list[_Pending]) -> list[_Kernel]:
    from torch._inductor.codecache import CppPythonBindingsCodeCache as Cache
    from torch._inductor.exc import CppCompileError

    if len(kernels) > 1 and all(len(_ENTRY.findall(k.source)) == 1 for k in kernels):
        try:
            return _joined(kernels)
        except CppCompileError:
            pass  # one by one, the compiler says what a user would read
    return [Cache.load_pybinding(k.argument_types, k.source) for k in kernels]


def _joined(kernels: list[_Pending]) -> list[_Kernel]:
    from torch._inductor.codecache import CppPythonBindingsCodeCache as Cache

    class Library(Cache):
        """Says where the library is; its modules are loaded by names of their own."""

        cache: dict[str, Any] = {}

        @classmethod
        def _load_library_inner(cls, path: str, key: str) -> Any:
            return SimpleNamespace(path=path)

    includes = [line.strip() for kernel in kernels for line in _INCLUDE.findall(kernel.source)]
    includes += [f"#include <{header}>" for header in _BINDINGS]
    namespaces = [_namespace(number, kernel, Cache) for number, kernel in enumerate(kernels)]
    source = "\n".join(["#define PY_SSIZE_T_CLEAN", *dict.fromkeys(includes), *namespaces])
    library = Library.load_async(source)()
    return [_load(library.path, number) for number in range(len(kernels))]


def _namespace(number: int, kernel: _Pending, cache: Any) -> str:
    entry = f"kernel_{number}"
    text = _ENTRY.sub(lambda match: match.group().replace("kernel(", entry + "("), kernel.source)
    arguments = ", ".join(
        f"parse_arg<{kind.replace('const ', '')}>(args, {n})"
        for n, kind in enumerate(kernel.argument_types)
    )
    bindings = cache.suffix_template.format(
        arg_len=len(kernel.argument_types),
        call_entry_func=f"{entry}({arguments}); Py_RETURN_NONE;",
        entry_func=entry,
        extra_parse_arg="",
    )
    body = _INCLUDE.sub("", text + bindings)
    return f"namespace ulpfuzz_{number} {{\n{body}\n}}\n"


def _load(path: str, number: int) -> _Kernel:
    """A module of the library: Python asks it for PyInit_ and the last part of the name."""
    import torch

    os.environ["_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"] = str(
        torch._C._dynamo.guards._torchinductor_pyobject_tensor_data_ptr  # type: ignore[attr-defined]
    )
    name = f"{os.path.basename(path)}.kernel_{number}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    kernel: _Kernel = getattr(module, f"kernel_{number}")
    return kernel
