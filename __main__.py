"""The command line: python -m tapeless demo | draw FILE:FUNCTION ARG … | op NAME | info."""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import platform
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .api import CompiledFunction, compile
from .cards import op_card
from .compiled import EXECUTORS
from .compiler.draw import DrawError
from .compiler.ir.opdef import OPS
from .compiler.ir.parse import ParseError, parse_type
from .compiler.ir.types import ArrayType, ScalarType
from .tracer.errors import TapelessError

ENDINGS = (".svg", ".png", ".pdf", ".dot")
HERE = Path(__file__).resolve().parent
SHOWN = (
    "numpy",
    "optree",
    "networkx",
    "graphviz",
    "llvmlite",
    "threadpoolctl",
    "tqdm",
    "scipy",
)


class UsageError(Exception):
    """The command line asked for something that is not there; the message is for the user."""


def wrong_settings() -> list[str]:
    """What the environment asks for that there is not, a line each."""
    from .specialize import check_threads

    found = []
    executor = os.environ.get("TAPELESS_EXECUTOR")
    if executor and executor not in EXECUTORS:
        found.append(f"TAPELESS_EXECUTOR={executor!r} is none of {', '.join(EXECUTORS)}")
    try:
        check_threads()
    except ValueError as error:
        found.append(str(error))
    return found


def run_demo(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """The main job: train a network on the MNIST images."""
    code: int = load(HERE / "examples" / "mnist.py").main(list(rest))
    return code


def run_draw(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Draw the graph or the plan of a function in a file."""
    if options.out and options.out.suffix.lower() not in (*ENDINGS, ""):
        raise UsageError(f"--out {options.out} does not end in one of {', '.join(ENDINGS)}")
    function, namespace = find_function(options.function)
    compiled = function if isinstance(function, CompiledFunction) else compile(function)
    args = [argument(text, namespace) for text in options.args]
    if args or not compiled.stats.traces:
        if not fits(function, args):
            raise UsageError(_unfit(options.function, args))
        compiled.graph(*args)
    out = options.out or Path(f"{compiled.__name__}.svg")
    try:
        print(compiled.draw(out, plan=options.plan))
    except OSError as error:
        if error.filename is None or Path(error.filename) != out:
            raise
        raise UsageError(f"{out} cannot be written: {error.strerror}") from None
    return 0


def fits(function: Any, args: Sequence[Any]) -> bool:
    """Whether a function can be called with these arguments, as far as its signature tells."""
    try:
        inspect.signature(function).bind(*args)
    except TypeError:
        return False
    except ValueError:  # it has no signature
        return True
    return True


def _unfit(where: str, args: Sequence[Any]) -> str:
    if args:
        return f"{where} does not take {len(args)} argument{'s' if len(args) > 1 else ''}"
    return (
        f"{where} is not called when the file is loaded, so its arguments are unknown.\n"
        "Give each as a type or as an expression over the file's names:  f64[64,10] float 'np.ones(3)'"
    )


def load(file: Path) -> ModuleType:
    """The module in a file, imported; its folder stays on the path, for what its functions import later."""
    sys.path.insert(0, str(file.resolve().parent))
    name = file.stem if file.stem not in sys.modules else f"{file.stem}_of_{file.resolve().parent.name}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is no Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find_function(where: str) -> tuple[Any, dict[str, Any]]:
    """The function that FILE:FUNCTION names, and the names of its file."""
    file, _, path = where.rpartition(":")
    if not Path(file).is_file():
        raise UsageError(f"{where!r} is not FILE:FUNCTION with a file that exists")
    module = load(Path(file))
    found: Any = module
    for name in path.split("."):
        found = getattr(found, name, None)
    if not callable(found):
        own = [n for n, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        raise UsageError(f"{file} has no function {path!r}; it has {', '.join(own) or 'none'}")
    return found, vars(module)


def argument(text: str, namespace: dict[str, Any]) -> Any:
    """An argument of a function to draw: ones of a type such as f64[3,4], or a Python expression."""
    try:
        type_ = parse_type(text)
    except ParseError:
        try:
            return eval(text, {"np": np, **namespace})
        except Exception as error:
            raise UsageError(f"the argument {text!r} is neither a type nor an expression: {error}") from error
    if isinstance(type_, ArrayType):
        try:
            return np.ones(type_.shape, type_.dtype)
        except (MemoryError, ValueError) as error:
            raise UsageError(f"an argument of type {text} cannot be made up: {error}") from error
    if isinstance(type_, ScalarType):
        return type_.kind(1)
    raise UsageError(f"an argument of type {text} cannot be made up; give an expression")


def run_op(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print the card of a primitive; without a name, all of them by a line each."""
    if options.name is None:
        width = max(map(len, OPS))
        print("\n".join(f"{op.name:<{width}}  {op.doc}" for _, op in sorted(OPS.items())))
        return 0
    op = OPS.get(options.name)
    if op is None:
        near = ", ".join(sorted(n for n in OPS if options.name and (options.name in n or n in options.name)))
        raise UsageError(f"there is no primitive {options.name!r}" + (f"; near it: {near}" if near else ""))
    print(op_card(op))
    return 0


def run_info(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print versions, the executor in use, which programs and libraries are found, vectors and the cache."""
    from .compiler.drawing.render import find_dot
    from .specialize import native_rows

    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    rows = [
        ("tapeless", f"{_version('tapeless')}  {HERE}"),
        ("python", f"{platform.python_version()}  {system}"),
        *((name, _version(name)) for name in SHOWN),
        ("executor", os.environ.get("TAPELESS_EXECUTOR") or "auto"),
        ("dot", find_dot() or "not found: install Graphviz, or pip install 'tapeless[draw]'"),
        *native_rows(),
    ]
    print("\n".join(f"{label:<14}{text}" for label, text in rows))
    if wrong := wrong_settings():
        raise UsageError("\n".join(wrong))
    return 0


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def parser() -> argparse.ArgumentParser:
    """What the command line understands."""
    made = argparse.ArgumentParser(prog="python -m tapeless", description=__doc__)
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="train a network on the MNIST images", add_help=False)
    demo.set_defaults(run=run_demo)
    draw = commands.add_parser("draw", help="draw the graph or the plan of a function")
    draw.add_argument("function", metavar="FILE:FUNCTION")
    draw.add_argument("args", metavar="ARG", nargs="*", help="a type (f64[3,4], float) or an expression")
    draw.add_argument("--plan", action="store_true", help="draw the plan instead of the graph")
    draw.add_argument("--out", type=Path, metavar="PATH", help="ends in .svg, .png, .pdf or .dot")
    draw.set_defaults(run=run_draw)
    op = commands.add_parser("op", help="print the card of a primitive, or list them all")
    op.add_argument("name", metavar="NAME", nargs="?")
    op.set_defaults(run=run_op)
    info = commands.add_parser("info", help="print versions and what was found on this machine")
    info.set_defaults(run=run_info)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 2 for a request that cannot be met, 1 for one that failed."""
    reader = parser()
    options, rest = reader.parse_known_args(argv)
    if rest and options.run is not run_demo:
        reader.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        if options.run in (run_demo, run_draw) and (wrong := wrong_settings()):
            raise UsageError("\n".join(wrong))
        code: int = options.run(options, rest)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    except (TapelessError, DrawError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return code


if __name__ == "__main__":
    raise SystemExit(main())
