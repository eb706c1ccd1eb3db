"""What names mean while a trace is active: stand-ins in user code, NumPy untouched, nothing left behind."""

import builtins
import copy
import importlib
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.linalg as la
import pytest
from numpy.random import default_rng

import tapeless as tl
from tapeless.tracer import state, user_code

FUNCTIONS_OF_NUMPY = {name: id(value) for name, value in vars(np).items()}
X = np.arange(4.0)


def traced(function: Callable[[Any], Any], x: Any = X) -> list[Any]:
    """What a function appends to a list while it is traced."""
    seen: list[Any] = []

    def run(x: Any) -> Any:
        seen.append(function(x))
        return x + 1

    tl.compile(run)(x)
    return seen


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    real = np, np.zeros, builtins.__import__, builtins.type, builtins.print
    yield
    assert (np, np.zeros, builtins.__import__, builtins.type, builtins.print) == real
    assert type(np) is types.ModuleType
    assert "type" not in globals()
    assert "print" not in globals()
    assert {name: id(vars(np)[name]) for name in FUNCTIONS_OF_NUMPY} == FUNCTIONS_OF_NUMPY


def test_a_stand_in_is_indistinguishable_by_name() -> None:
    def look(x: Any) -> Any:
        return (
            np.zeros is np.zeros,
            np.zeros.__name__,
            np.zeros.__module__,
            np.zeros.__doc__ == zeros_doc,
            np.__name__,
            np.__version__,
            np.linalg is la,
            repr(np.zeros),
            isinstance(np.zeros, types.BuiltinFunctionType),
            "zeros" in dir(np) and hasattr(np, "zeros"),
            isinstance(np, types.ModuleType),
            np.float64 is np.dtype("f8").type,
        )

    zeros_doc = np.zeros.__doc__
    assert traced(look)[0] == look(None)


def test_numpy_itself_keeps_its_functions_while_a_trace_is_active() -> None:
    def look(x: Any) -> Any:
        module = sys.modules["numpy"]
        return {name: id(vars(module)[name]) for name in FUNCTIONS_OF_NUMPY} == FUNCTIONS_OF_NUMPY

    assert traced(look) == [True]


def test_compiled_parts_of_numpy_never_meet_a_stand_in() -> None:
    generator = np.random.default_rng(3)
    expected = [np.random.default_rng(3).normal(size=3), np.random.default_rng(3).choice(5, 2)]
    before = generator.bit_generator.state

    def draw(x: Any) -> Any:
        found = [generator.normal(size=3)]
        generator.bit_generator.state = before
        found.append(generator.choice(5, 2))
        generator.bit_generator.state = before
        return found

    [found] = traced(draw)
    for a, b in zip(found, expected, strict=True):
        assert type(a) is np.ndarray
        np.testing.assert_array_equal(a, b)


def test_another_thread_sees_plain_numpy() -> None:
    def look(x: Any) -> Any:
        found = []

        def work() -> None:
            made = np.zeros(3)
            made[0] = 2
            found.extend([type(made), made.tolist(), np.array([1, 2]).sum(), np.zeros(2).flags.owndata])
            found.append(pickle.loads(pickle.dumps(np.zeros)) is sys.modules["numpy"].zeros)
            found.append(copy.copy(np.zeros) is sys.modules["numpy"].zeros)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return found

    assert traced(look) == [[np.ndarray, [2, 0, 0], 3, True, True, True]]


def test_imports_inside_functions() -> None:
    def made_here(x: Any) -> Any:
        import numpy
        import numpy as mine
        from numpy import empty, zeros
        from numpy.random import default_rng as seeded

        out = zeros(2)
        out[0] = x[0]
        other = mine.empty(2)
        other[:] = x[:2]
        third = empty(1)
        third[0] = x[1]
        return out, other, third, numpy.array([x[0], x[1]]), seeded(0).normal()

    found = tl.compile(made_here)(X)
    for a, b in zip(found, made_here(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_names_in_closures_defaults_and_attributes() -> None:
    def outer() -> Any:
        import numpy as own

        def inner(x: Any, make: Any = np.zeros, *, ones: Any = np.ones, module: Any = own) -> Any:
            a, b, c, d = make(2), ones(2), own.zeros(2), module.zeros(2)
            for out in (a, b, c, d):
                out[0] = x[0]
            return a, b, c, d

        return inner

    class Model:
        def __init__(self) -> None:
            self.xp = np

        def __call__(self, x: Any) -> Any:
            out = self.xp.zeros(2)
            out[1] = x[1]
            return out + self.module.ones(2) * self.filled(2)

        module = np
        filled = staticmethod(np.ones)

    function = outer()
    np.testing.assert_array_equal(tl.compile(function)(X), function(X))
    model = Model()
    np.testing.assert_array_equal(tl.compile(lambda x: model(x))(X), model(X))
    assert type(model.xp) is type(Model.module) is types.ModuleType
    assert function.__defaults__ == (np.zeros,)
    assert function.__kwdefaults__["module"] is np


def test_numpy_as_a_static_argument_and_as_array_namespace() -> None:
    def general(x: Any, xp: Any) -> Any:
        out = xp.zeros(4)
        out[:] = x
        own = x.__array_namespace__().zeros(4)
        own[:] = x
        return out + own

    np.testing.assert_array_equal(tl.compile(general)(X, np), general(X, np))


HELPER = """
import numpy as np
from numpy import zeros
import numpy.random as random

TABLE = np.arange(3.0)

def place(x):
    out = zeros(3)
    out[0] = x
    return np.array([out, TABLE])

class Layer:
    def build(self, x):
        return np.stack([np.full(2, x), np.zeros(2)])
"""


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "a_users_helper.py").write_text(HELPER)
    monkeypatch.syspath_prepend(tmp_path)
    yield "a_users_helper"
    sys.modules.pop("a_users_helper", None)


def test_other_modules_of_user_code(helper: str) -> None:
    module = importlib.import_module(helper)
    for function in (lambda x: module.place(x[1]), lambda x: module.Layer().build(x[2])):
        np.testing.assert_array_equal(tl.compile(function)(X), function(X))
    assert type(module.np) is types.ModuleType
    assert module.zeros is np.zeros


def test_a_module_imported_while_tracing_has_real_constants(helper: str) -> None:
    def late(x: Any) -> Any:
        import a_users_helper  # type: ignore[import-not-found]

        return a_users_helper.place(x[1])

    found = tl.compile(late)(X)
    assert type(sys.modules[helper].TABLE) is np.ndarray
    np.testing.assert_array_equal(found, late(X))


def test_a_module_imported_by_a_call_is_not_reached_and_refuses(helper: str) -> None:
    with pytest.raises(tl.TapelessError, match="no array of the trace"):
        tl.compile(lambda x: importlib.import_module(helper).place(x[1]))(X)


def test_type_of_a_traced_value_is_numpys() -> None:
    def kinds(x: Any, n: int) -> Any:
        made = type("Made", (), {"value": 1})
        return (
            type(x) is np.ndarray,
            type(x[0]) is np.float64,
            type(n) is int,
            type(n / 2) is float,
            type([]) is list,
            type(type) is type,
            type(int) is type,
            isinstance(int, type),
            issubclass(made, object),
            made().value,
            type(np.zeros(2)) is np.ndarray,
            type.__name__,
            type[int] == type[int],
        )

    compiled = tl.compile(kinds)
    assert compiled(X, 3) == kinds(X, 3) == compiled(X, 3)


def test_a_metaclass_can_be_made_while_tracing() -> None:
    def make(x: Any) -> Any:
        class Meta(type):
            def __new__(cls, name: str, bases: Any, body: Any) -> Any:
                return type.__new__(cls, name, bases, {**body, "mark": 1})

        class Made(metaclass=Meta):
            pass

        return type(Made) is Meta, Made.mark  # type: ignore[attr-defined]

    assert traced(make) == [(True, 1)]


def test_print_shows_traced_values_and_texts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    def show(x: Any, s: float) -> Any:
        print("x is", x, [x[0]], s, np.zeros(2))
        return x

    tl.compile(show)(X, 2.0)
    assert capsys.readouterr().out == "x is <traced f64[4]> [<traced f64[]>] <traced float> [0. 0.]\n"
    for text in (
        str,
        repr,
        lambda x: f"{x}",
        lambda x: f"{x!r}",
        lambda x: "%s" % x,  # noqa: UP031
        lambda x: f"{x[0]:.3f}",
    ):

        def keep(x: Any, text: Any = text) -> Any:
            return x, text(x)

        with pytest.raises(tl.TapelessError, match=r"[Tt]ext"):
            tl.compile(keep)(X)


def test_debuggers_and_libraries_get_a_text() -> None:
    import pprint

    assert traced(lambda x: pprint.pformat({"x": x})) == ["{'x': <traced f64[4]>}"]


def test_gather_by_name_only_where_the_code_names_it() -> None:
    def quiet(x: Any) -> Any:
        return "type" in globals(), "print" in globals()

    def loud(x: Any) -> Any:
        return type(x) is np.ndarray, "type" in globals()

    assert traced(quiet) == [(False, False)]
    assert traced(loud) == [(True, True)]


def test_an_exception_in_the_middle_leaves_nothing_behind() -> None:
    def fails(x: Any) -> Any:
        np.zeros(3)[0] = x[0]
        with np.errstate(divide="ignore"):
            raise KeyError("half-way")

    settings = np.geterr()
    for _ in range(2):
        with pytest.raises(KeyError, match="half-way"):
            tl.compile(fails)(X)
    assert np.geterr() == settings
    assert type(np.zeros(3)) is np.ndarray
    assert tl.compile(lambda x: x + 1)(1.0) == 2.0


def test_a_rebinding_by_the_user_survives_the_trace() -> None:
    namespace: dict[str, Any] = {"np": np, "__name__": "some_user_module"}
    exec(
        textwrap.dedent("""
        def swap(x):
            global np
            out = np.zeros(2)
            out[0] = x[0]
            np = "mine"
            return out
        """),
        namespace,
    )
    with pytest.warns(UserWarning, match="rebinds the global `np`"):
        tl.compile(namespace["swap"])(X)
    assert namespace["np"] == "mine"


def test_a_fork_while_tracing() -> None:
    program = """
        import os, threading
        import numpy as np
        import tapeless as tl

        started, forked = threading.Event(), threading.Event()

        def slow(x):
            np.zeros(2)[0] = x[0]
            started.set()
            forked.wait(20)
            return x * 2

        compiled = tl.compile(slow)
        thread = threading.Thread(target=compiled, args=(np.ones(2),))
        thread.start()
        started.wait(20)
        child = os.fork()
        if child == 0:
            import types
            fine = type(np) is types.ModuleType and type(np.zeros(2)) is np.ndarray
            forked.set()
            fine = fine and tl.compile(lambda x: x + np.zeros(2))(np.ones(2)).sum() == 2
            os._exit(0 if fine and type(np) is types.ModuleType else 1)
        _, status = os.waitpid(child, 0)
        forked.set()
        thread.join()
        raise SystemExit(os.waitstatus_to_exitcode(status))
    """
    if not hasattr(os, "fork"):
        return
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        timeout=60,
        check=False,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()


def test_every_module_at_the_root_is_the_projects_own() -> None:
    root = Path(tl.__file__).parent
    own = {f"tapeless.{file.stem}" for file in root.glob("*.py")} - {"tapeless.__init__"}
    assert [name for name in sorted(own) if not user_code.is_stage(name)] == []
    assert not user_code.is_stage("tapeless.nn.layers")
    assert not state.is_internal(test_imports_inside_functions.__code__)


def test_from_imported_generators_are_stand_ins_too() -> None:
    [value] = traced(lambda x: float(default_rng(5).normal()))
    assert value == np.random.default_rng(5).normal()
