"""Which code is the user's: everything but NumPy, SciPy, the standard library and Tapeless' own stages.

Installed packages count as user code too, so that a helper package may build arrays of traced values, unless
they hold compiled modules: such a package hands its arrays to C, which must not meet a stand-in.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from types import CodeType
from typing import Any

from .state import is_internal

_PACKAGE = __name__.rpartition(".tracer.")[0]
_STAGES = tuple(
    f"{_PACKAGE}.{part}"
    for part in (
        "tracer",
        "compiler",
        "runtime",
        "api",
        "compiled",
        "specialize",
        "cards",
        "testing",
        "__main__",
    )
)
_NEVER = frozenset((*sys.stdlib_module_names, "numpy", "scipy")) - {"__main__"}
_DEBUGGERS = ("pydev", "_pydev", "debugpy", "ptvsd")
_COMPILED_FILE = tuple(importlib.machinery.EXTENSION_SUFFIXES)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_LIBRARY = os.path.dirname(os.__file__) + os.sep


class _Loaded:
    """What is known of the loaded modules; brought up to date when modules were added."""

    def __init__(self) -> None:
        self.count = -1
        self.seen: set[str] = set()
        self.compiled: set[str] = set()
        self.user: list[str] = []

    def look(self) -> None:
        loaded = list(sys.modules.items())
        for name, module in loaded:
            if name not in self.seen:
                self.seen.add(name)
                if _file(module).endswith(_COMPILED_FILE):
                    self.compiled.add(name.partition(".")[0])
                elif _may_be_user(name):
                    self.user.append(name)
        self.user = [name for name in self.user if not self.handed_to_c(name, _file(sys.modules.get(name)))]
        self.count = len(loaded)

    def handed_to_c(self, name: str, file: str) -> bool:
        return name.partition(".")[0] in self.compiled and is_installed(file)


_loaded = _Loaded()


def user_modules() -> list[Any]:
    """The loaded modules of user code."""
    if len(sys.modules) != _loaded.count:
        _loaded.look()
    found = map(sys.modules.get, _loaded.user)
    return [module for module in found if module is not None]


def _file(module: Any) -> str:
    found = getattr(module, "__dict__", {}).get("__file__")
    return found if type(found) is str else ""


def is_installed(file: str) -> bool:
    """Whether a file belongs to an installed package."""
    return _INSTALLED[0] in file or _INSTALLED[1] in file


def _may_be_user(name: str) -> bool:
    return name.partition(".")[0] not in _NEVER and not is_stage(name)


def is_stage(module: str) -> bool:
    """Whether a module is one of Tapeless' own stages."""
    return module.startswith(_STAGES)


def is_user_namespace(namespace: dict[str, Any]) -> bool:
    """Whether globals belong to user code."""
    name = namespace.get("__name__")
    if type(name) is not str:
        return True
    file = namespace.get("__file__")
    return _may_be_user(name) and not (type(file) is str and _loaded.handed_to_c(name, file))


def is_own_code(code: CodeType, namespace: dict[str, Any]) -> bool:
    """Whether code is written by the user, and not installed, the standard library's or a debugger's."""
    file = code.co_filename
    if is_internal(code) or file.startswith((_LIBRARY, "<frozen")) or is_installed(file):
        return False
    name = namespace.get("__name__")
    return type(name) is not str or (_may_be_user(name) and not name.startswith(_DEBUGGERS))
