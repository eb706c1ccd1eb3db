"""A function that is traced once per signature and then runs as a plan: its cache, switches and questions.

`compile` in `api.py` makes one. A call flattens the arguments, looks their signature up and runs the
specialization; a new signature is traced, optimised and planned first, under a lock.
"""

from __future__ import annotations

import functools
import gc
import inspect
import operator
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .compiler.ir.record import record
from .tracer import signature
from .tracer.frames import hide_internal_frames
from .tracer.signature import Static
from .tracer.state import active

if TYPE_CHECKING:
    from .compiler.ir.node import Graph
    from .compiler.passes.bisect import Finding
    from .compiler.passes.manager import Options
    from .compiler.plan import Plan
    from .compiler.rules.rule import RuleSet
    from .runtime.profile import Profile
    from .specialize import Specialization

CACHE_SIZE = 256
WARM_WAYS = 4
CALLS_TO_WARM = 2
MISS = signature.MISS
RETRACES_BEFORE_WARNING = 5
EXECUTORS = ("auto", "native", "numpy", "interpret")


class RetraceWarning(UserWarning):
    """A compiled function is traced again and again; `explain()` says why."""


@record(frozen=False)
class Stats:
    """How often a compiled function was called and traced. `specializations` counts those kept."""

    calls: int = 0
    traces: int = 0
    specializations: int = 0


@contextmanager
def collector_paused() -> Iterator[None]:
    """No collection of cyclic garbage meanwhile.

    Compiling makes many objects that live on and little garbage; collections took a third of the time that
    a long plan needs.
    """
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


class CompiledFunction:
    """A function that is traced once per signature and then runs as a plan. Made by `compile`.

    It is called as the function is. `stats` counts calls, traces and specializations kept.
    """

    __name__: str
    __qualname__: str

    def __init__(
        self,
        function: Callable[..., Any],
        static: Sequence[str | int] = (),
        donate: Sequence[str | int] = (),
        executor: str | None = None,
        fast_math: bool = False,
        disabled: str | Sequence[str] = (),
        rules: Sequence[RuleSet] = (),
    ) -> None:
        if not callable(function):
            raise TypeError(f"compile takes a function, not {function!r}")
        self.function = function
        self._given = {
            "static": static,
            "donate": donate,
            "executor": executor,
            "fast_math": fast_math,
            "disabled": disabled,
            "rules": rules,
        }
        self._options: Options | None = None
        if disabled or rules:
            self._switches()
        self._executor = executor or os.environ.get("TAPELESS_EXECUTOR") or "auto"
        if self._executor not in EXECUTORS:
            asked = "executor" if executor else "TAPELESS_EXECUTOR"
            raise ValueError(f"{asked}={self._executor!r} is none of {', '.join(EXECUTORS)}")
        self._static = _positions(function, static, "static")
        self._donate = _positions(function, donate, "donate")
        self._cache: OrderedDict[Any, Specialization] = OrderedDict()
        self._on_demand: dict[Any, frozenset[int]] = {}
        self._history: list[list[tuple[str, str]]] = []
        self._reasons: list[str] = []
        self._notes: list[str] = []
        self._latest: Specialization | None = None
        self._warm: tuple[Callable[[Any, Any], Any], ...] = ()
        self._lock = threading.RLock()
        self.stats = Stats()
        self.__name__ = self.__qualname__ = signature.function_name(function)
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if active.trace is not None:
            return self.function(*args, **kwargs)
        self.stats.calls += 1
        try:
            for warm in self._warm:
                result = warm(args, kwargs)
                if result is not MISS:
                    return result
            if self._static:
                args, kwargs = self._wrap_static(args, kwargs)
            leaves, tree = signature.flatten((args, kwargs) if kwargs else args)
            try:
                found = self._cache.get(self._key(leaves, tree, args, kwargs))
            except TypeError:
                self._check(leaves, args, kwargs)
                raise
            if found is None or (found.guards is not None and found.guards.changed()):
                found = self._specialize(args, kwargs)
            elif found.calls_to_warm:
                self._warm_up(found, args, kwargs, tree)
            return found(leaves, args, kwargs)
        except OverflowError as error:
            return self._with_fixed_integers(args, kwargs, error)
        except Exception as error:
            raise hide_internal_frames(error)  # noqa: B904

    def _switches(self) -> Options:
        """The switches of the pipeline; ValueError for a name in `disabled` that nothing bears."""
        if self._options is None:
            from .specialize import make_options

            disabled: Any = self._given["disabled"]
            off = frozenset((disabled,) if isinstance(disabled, str) else disabled)
            self._options = make_options(bool(self._given["fast_math"]), off, self._given["rules"])  # type: ignore[arg-type]
        return self._options

    def _wrap_static(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The arguments with the static ones wrapped, unless they are already."""

        def wrap(key: str | int, value: Any) -> Any:
            return Static(value) if key in self._static and type(value) is not Static else value

        return tuple(map(wrap, range(len(args)), args)), {k: wrap(k, v) for k, v in kwargs.items()}

    def _with_fixed_integers(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], error: OverflowError
    ) -> Any:
        """The call with its Python ints as static values, which decide how NumPy computes if they are large.

        What was traced with other ints raised the error. It has left the arguments as they were, unless
        random numbers were drawn or memory was donated: then the error stands, as one met while tracing does.
        """
        try:
            args, kwargs = self._wrap_static(args, kwargs)
            leaves, tree = signature.flatten((args, kwargs) if kwargs else args)
            found = self._cache.get(self._key(leaves, tree, args, kwargs))
            static = self._on_demand.get(tree, frozenset())
            fixed = static.union(i for i, leaf in enumerate(leaves) if type(leaf) is int)
            if found is None or fixed == static or self._donate or signature.has_generator(leaves):
                raise error
            return self._specialize(args, kwargs, fixed)(leaves, args, kwargs)
        except Exception as raised:
            raise hide_internal_frames(raised) from None

    def _key(
        self,
        leaves: Sequence[Any],
        tree: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        fixed: frozenset[int] = frozenset(),
    ) -> Any:
        static = fixed or self._on_demand.get(tree)
        if static:
            keys = tuple([signature.leaf_key(leaf, i in static) for i, leaf in enumerate(leaves)])
        else:
            keys = tuple(map(signature.leaf_key, leaves))
        return tree, keys, signature.overlaps(leaves), signature.shared_containers(args, kwargs)

    def _check(self, leaves: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise ArgumentError for a leaf that has no signature."""
        from .specialize import leaf_names

        for leaf, name in zip(leaves, leaf_names(self.function, args, kwargs), strict=True):
            signature.check_leaf(leaf, name)

    def _specialize(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], fixed: frozenset[int] = frozenset()
    ) -> Specialization:
        """The specialization for these arguments (static ones wrapped), traced now if it is new.

        If `fixed` is given, these leaves are static in this call, else those that `_on_demand` has.
        """
        with collector_paused():
            from .specialize import Specialization, trace_with_demands

        with self._lock:
            leaves, tree = signature.flatten((args, kwargs) if kwargs else args)
            found = self._cache.get(self._key(leaves, tree, args, kwargs, fixed))
            reason = found.guards.changed() if found is not None and found.guards is not None else ""
            if found is None or reason:
                static = fixed or self._on_demand.get(tree, frozenset())
                traced, demanded = trace_with_demands(self.function, args, kwargs, static)
                if demanded != static:
                    self._on_demand[tree] = static = demanded
                donated, options = self._donated(args, kwargs), self._switches()
                with collector_paused():
                    found = Specialization(traced, self._executor, donated, options)
                self._cache[self._key(leaves, tree, args, kwargs, fixed)] = found
                self._warm = ()
                for other in self._cache.values():
                    other.calls_to_warm, other.ways = CALLS_TO_WARM, 0
                if len(self._cache) > CACHE_SIZE:
                    self._cache.popitem(last=False)
                self._notes.append(found.note)
                self._remember(args, kwargs, leaves, static, reason)
            self._latest = found
            return found

    def _warm_up(
        self, found: Specialization, args: tuple[Any, ...], kwargs: dict[str, Any], tree: Any
    ) -> None:
        """Write the straight way of calls like this one, if it was seen often enough."""
        with self._lock:
            found.calls_to_warm = max(0, found.calls_to_warm - 1)
            if found.calls_to_warm or found not in self._cache.values():
                return
            warm = found.warm_up(args, kwargs, self._on_demand.get(tree, frozenset()))
            found.calls_to_warm = CALLS_TO_WARM if found.ways < 2 else 0
            if warm is not None:
                self._warm = (warm, *self._warm[: WARM_WAYS - 1])

    def _donated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> frozenset[int]:
        """The numbers of the leaves that belong to donated arguments and share no memory."""
        found: set[int] = set()
        leaves: list[Any] = []
        for key, value in [*enumerate(args), *kwargs.items()]:
            mine = signature.flatten(value)[0]
            if key in self._donate:
                found.update(range(len(leaves), len(leaves) + len(mine)))
            leaves += mine
        if not found:
            return frozenset()
        shared = {i for group in signature.overlaps(leaves) for i in group[::3]}
        return frozenset(i for i in found - shared if signature.may_be_reused(leaves[i]))

    def _remember(
        self, args: Any, kwargs: Any, leaves: Sequence[Any], static: frozenset[int], reason: str
    ) -> None:
        from .specialize import leaf_names

        names = leaf_names(self.function, args, kwargs)
        shown = [signature.describe(leaf, i in static) for i, leaf in enumerate(leaves)]
        self._history.append(list(zip(names, shown, strict=True)))
        self._reasons.append(reason)
        self.stats.traces += 1
        self.stats.specializations = len(self._cache)
        if self.stats.traces == RETRACES_BEFORE_WARNING + 1:
            warnings.warn(
                f"{self.__name__} was traced {self.stats.traces} times; "
                f"{self._change(len(self._history) - 1)}. See explain() for all of them.",
                RetraceWarning,
                stacklevel=4,
            )

    def _change(self, number: int) -> str:
        """What made specialization `number` differ from the one before it."""
        if self._reasons[number]:
            return self._reasons[number]
        now, before = self._history[number], dict(self._history[number - 1]) if number else {}
        if not number:
            return "first call: " + ", ".join(f"{name} {shown}" for name, shown in now)
        gone = [f"{name} is gone" for name in before if name not in dict(now)]
        new = [
            f"{name}: {before[name]} became {shown}" if name in before else f"{name} is new"
            for name, shown in now
            if before.get(name) != shown
        ]
        return (
            "; ".join(new + gone)
            or "arguments share memory in another way, or containers are nested differently"
        )

    def explain(self) -> str:
        """One line per trace: what the first call had, and which argument caused each retrace."""
        lines = [f"{self.__name__}: traced {self.stats.traces} times, called {self.stats.calls} times"]
        for number, note in enumerate(self._notes):
            lines.append(f"  {number + 1}. {self._change(number)}{f'; {note}' if note else ''}")
        return "\n".join(lines)

    def specialization(self, *args: Any, **kwargs: Any) -> Specialization:
        """The specialization for these arguments; nothing is run."""
        if self._static:
            args, kwargs = self._wrap_static(args, kwargs)
        try:
            return self._specialize(args, kwargs)
        except Exception as error:
            raise hide_internal_frames(error)  # noqa: B904

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph for these arguments; nothing is run."""
        return self.specialization(*args, **kwargs).graph

    def plan(self, *args: Any, **kwargs: Any) -> Plan:
        """The plan for these arguments; nothing is run."""
        return self.specialization(*args, **kwargs).plan

    @property
    def last(self) -> Specialization:
        """The specialization that was traced last, or asked for; RuntimeError where there is none yet."""
        if self._latest is None:
            raise RuntimeError(f"{self.__name__} was not traced yet: call it, or graph(*args), first")
        return self._latest

    @property
    def text(self) -> str:
        """The text of the graph that was traced last."""
        return str(self.last.graph)

    def bisect_passes(self, *args: Any, tolerance: float = 0.0, **kwargs: Any) -> Finding | None:
        """The pass, and in it the rule, that changed a value for these arguments; None if none did.

        The graph runs on copies of the arguments after each pass, by the reference interpreter. Rules for
        derivatives promise accuracy, not bits: with gradients give a `tolerance`, the part of a result's
        largest number by which it may differ.

        Example:
            >>> import numpy as np
            >>> import tapeless as tl
            >>> f = tl.compile(lambda x: np.exp(x) * 1.0)
            >>> print(f.bisect_passes(np.ones(3)))
            None
        """
        from .specialize import bisect

        if self._static:
            args, kwargs = self._wrap_static(args, kwargs)
        found = self._specialize(args, kwargs)
        leaves, _ = signature.flatten((args, kwargs) if kwargs else args)
        values = found.assembler.gather(leaves)
        return bisect(found, values, self._switches(), tolerance)

    def profile(self, *args: Any, **kwargs: Any) -> Profile:
        """Seconds and bytes of each step of the plan for these arguments, with the lines they come from.

        The plan runs some rounds on copies of the arguments; `str` of the result is a table. The reference
        interpreter has no plan of its own: its functions are timed as the NumPy executor runs them.

        Example:
            >>> import numpy as np
            >>> import tapeless as tl
            >>> f = tl.compile(lambda x: np.sort(x) + 1, executor="numpy")
            >>> [step.what for step in f.profile(np.ones(3)).steps]
            ['sort', 'add']
        """
        from .specialize import profile

        if self._static:
            args, kwargs = self._wrap_static(args, kwargs)
        found = self._specialize(args, kwargs)
        leaves, _ = signature.flatten((args, kwargs) if kwargs else args)
        return profile(found, found.assembler.gather(leaves))

    @property
    def llvm(self) -> str:
        """LLVM text of the kernels that were compiled last; RuntimeError without the native executor."""
        return self._native().llvm  # type: ignore[no-any-return]

    @property
    def asm(self) -> str:
        """Assembly of the kernels that were compiled last; RuntimeError without the native executor."""
        return self._native().asm  # type: ignore[no-any-return]

    def _native(self) -> Any:
        run = self.last.run
        if getattr(run, "name", "") != "native":
            raise RuntimeError(f"{self.__name__} was compiled for NumPy: executor='native' makes kernels")
        return run

    def draw(
        self, path: str | os.PathLike[str] | None = None, *args: Any, plan: bool = False, **kwargs: Any
    ) -> Any:
        """Draw the graph (or the plan) for these arguments, or of the last trace if none are given."""
        found = self.specialization(*args, **kwargs) if args or kwargs else self.last
        from .compiler.draw import draw, output_names

        if plan:
            return draw(found.plan, path)
        return draw(found.graph, path, outputs=output_names(found.plan))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}: {len(self._cache)} specializations>"

    def __reduce__(self) -> Any:
        """By name where the module's name means this object, else by the function and the options."""
        import sys

        module = sys.modules.get(self.__module__)
        found: Any = module
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.__qualname__
        return _rebuild, (self.function, self._given)


def _rebuild(function: Callable[..., Any], options: dict[str, Any]) -> CompiledFunction:
    return CompiledFunction(function, **options)


def _positions(
    function: Callable[..., Any], wanted: str | int | Iterable[str | int], option: str
) -> frozenset[str | int]:
    """Names and positions of arguments, each by both where the signature tells."""
    items = (wanted,) if isinstance(wanted, str) or not isinstance(wanted, Iterable) else wanted
    found: set[str | int] = set()
    parameters = signature.parameters(function)
    for item in items:
        if not isinstance(item, str):
            if isinstance(item, bool) or not hasattr(item, "__index__"):
                raise TypeError(f"{option}={item!r} is neither a name nor a position")
            item = operator.index(item)
        found.add(item)
        if parameters is not None:
            found.add(_other_key(function, parameters, item, option))
        elif isinstance(item, int) and item < 0:
            raise ValueError(f"{option}={item!r} is no position: they count from 0")
    return frozenset(found)


def _other_key(
    function: Callable[..., Any], parameters: Sequence[inspect.Parameter], item: str | int, option: str
) -> str | int:
    """The position of a named parameter, or the name of the one at a position; else the item."""
    by_position = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = {p.kind: p.name for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    if item in by_position:
        return by_position.index(str(item))
    if isinstance(item, int):
        if 0 <= item < len(by_position):
            return by_position[item]
        known = item >= 0 and inspect.Parameter.VAR_POSITIONAL in rest
    elif item in rest.values():
        raise ValueError(f"{option}={item!r} is many arguments: name positions or keywords among them")
    else:
        known = inspect.Parameter.VAR_KEYWORD in rest or any(p.name == item for p in parameters)
    if not known:
        raise ValueError(f"{option}={item!r} is no parameter of {signature.function_name(function)}")
    return item
