"""Random straight-line programs over arrays of every kind and layout: compiled does what NumPy does.

Hypothesis draws arguments (views of one another and read-only ones too) and statements: operators, ufuncs,
`out=`, views of views, reads and writes by every kind of index, reductions, sorting, containers. Each is
tried on real arrays as it is drawn, so that programs run; now and then one that raises is kept as the last.
A failing program is shown as source text.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

SHAPES = [(3,), (2, 3), (3, 3), (3, 1), (1, 3), (2, 3, 2), (4,), (6,), (), (1,), (0, 3), (2, 1, 3)]
DTYPES = ["f8", "f8", "f8", "f4", "i8", "i4", "u1", "?", "c16"]
LAYOUTS = ["c", "c", "c", "f", "f", "gaps", "reversed", "axes", "windows"]


def pieces(text: str) -> list[str]:
    """What stands between semicolons and line ends."""
    return [piece.strip() for piece in text.replace("\n", ";").split(";") if piece.strip()]


# Gaps: {a} {b} {c} arrays, {v} an array or number, {s} a number, {i} {j} indices, {k} an axis, {o} an
# augmented assignment, {w} an operator, {u} {f} ufuncs of one and two operands, {t} a new name.
OPERATORS = pieces("+; -; *; /; //; %; **; @; <; <=; ==; !=; &; |; ^; <<")
IN_PLACE = pieces("+=; -=; *=; /=; //=; %=; **=; @=; &=; |=; ^=")
ONE = pieces("""
    np.negative; np.exp; np.tanh; np.sqrt; np.sin; np.square; np.abs; np.sign; np.floor; np.log1p
    np.isfinite; np.logical_not; np.conj; np.rint; np.reciprocal; np.expm1
""")
TWO = pieces("""
    np.add; np.subtract; np.multiply; np.maximum; np.minimum; np.arctan2; np.hypot; np.copysign
    np.logaddexp; np.power; np.fmod; np.less; np.logical_and; np.divide
""")
VALUES = pieces("{a} {w} {v}; {v} {w} {a}; {u}({a}); {f}({a}, {v}); -{a}; {a} {w} {b}")
VIEWS = pieces("""
    {a}.T; {a}.ravel(); {a}.ravel('F'); {a}.ravel('K'); {a}.reshape(-1); {a}.reshape(-1, order='F')
    {a}[None]; {a}[..., None]; {a}.squeeze(); {a}.real; {a}.imag; {a}[...]; np.asarray({a}); np.flip({a})
    np.rot90({a}); np.broadcast_to({a}, (2, *{a}.shape)); np.diagonal({a}); {a}.swapaxes(0, -1)
    np.moveaxis({a}, 0, -1); np.atleast_2d({a}); {a}.view('i8'); {a}.view('f4'); {a}.view('u1')
    np.split({a}, [1])[1]; {a}[()]; np.expand_dims({a}, 0); np.einsum('ij->ji', {a})
    np.lib.stride_tricks.sliding_window_view({a}, 2, 0); np.einsum('ii->i', {a}); {a}.reshape(3, -1)
    {a}.conj(); np.ravel({a}); {a}.transpose(); np.atleast_1d({a}); {a}.astype({a}.dtype, copy=False)
    {a}[{i}]; {a}[{i}]; {a}[{i}]; {a}[{i}]; {a}[{i}]; {a}[{i}]; {a}[{i}]
""")
COPIES = pieces("""
    {a}.copy(); {a}.astype('f4'); {a}.astype('c16'); {a}.astype('i4'); np.array({a}); {a}.flatten()
    np.diff({a}); np.sort({a}, 0); np.argsort({a}, kind='stable'); np.cumsum({a}, 0); np.cumprod({a})
    np.stack([{a}, {b}]); np.concatenate([{a}, {b}]); np.where({a} > 0, {a}, {b}); np.tile({a}, 2)
    np.clip({a}, -1, 1); np.dot({a}, {b}); np.repeat({a}, 2); np.roll({a}, 1); np.outer({a}, {b})
    np.zeros_like({a}); np.full_like({a}, 2); np.pad({a}, 1); np.zeros({a}.shape); np.round({a}, 1)
    np.arange({a}.size); np.tril({a}); np.triu({a}, 1); np.linalg.norm({a}); np.interp({a}, [-1, 1], [0, 2])
    np.take({a}, [0, -1], 0); np.hstack([{a}, {b}]); np.add.outer({a}, {b}); np.append({a}, {b})
    np.multiply({a}, {b}, dtype='c16'); np.select([{a} > 1, {a} < 0], [{a}, {b}], 3); np.nan_to_num({a})
    {a} * np.float32(2); {a} + np.int8(3); np.ones_like({a}, dtype='f4'); np.kron({a}, {b})
    np.maximum.accumulate({a}); np.vander({a}.ravel(), 3); np.tensordot({a}, {b}, 1); np.r_[{a}, {s}, {b}]
    np.einsum('ij,kj->ik', {a}, {b}); np.insert({a}, 1, {s}); np.delete({a}, 0); np.column_stack([{a}, {b}])
""")
REDUCED = pieces("""
    {a}.sum({k}); {a}.mean({k}); {a}.max({k}); {a}.min({k}); {a}.prod({k}); {a}.any({k}); {a}.all({k})
    {a}.var({k}); np.std({a}); {a}.argmax({k}); np.ptp({a}); np.add.reduce({a}); np.median({a})
    np.sum({a}, 0, keepdims=True); np.sum({a}, where={a} > 0); {a}.trace(); np.count_nonzero({a})
    np.sum({a}, dtype='f4'); np.max({a}, initial=0); np.average({a}); np.sum({a}[{a} > 0])
    np.array_equal({a}, {b}); np.vdot({a}, {b})
""")
WRITES = pieces("""
    {a}[{i}] = {v}; {a}[{i}] {o} {v}; {a} {o} {v}; {a}[...] = {v}; {a}.T[{i}] {o} {v}; {a}[::-1] = {a}
    {a}.sort(0); {a}[{a} > 0] = {s}; {a}[{a} < 1] {o} {s}; {a}.fill({s}); {a}.flat[1:3] = {v}
    {a}.flat = {v}; np.copyto({a}, {b}); np.add({a}, {b}, out={c}); np.multiply({a}, {b}, out={c}[{i}])
    np.exp({a}, out={a}); np.cumsum({a}, 0, out={a}); np.add({a}, {s}, out={c}, where={a} > 0)
    np.copyto({a}, {s}, where={a} < 0); np.add.at({a}, [0, 0, -1], {v}); np.put({a}, [0, -1], {v})
    np.place({a}, {a} > 0, [{s}, 2]); {a}.real = {v}; np.putmask({a}, {a} > {s}, {b})
    np.fill_diagonal({a}, {s}); {a}.imag {o} {v}; {a}[{i}], {a}[{j}] = {a}[{j}], {a}[{i}]
    np.clip({a}, -1, 1, out={a}); {a}[1:] = {a}[:-1]; {a} {o} {a}[::-1]; np.negative({a}, out={a}[::-1])
    {a}.partition(0); {a}.shape = (-1,); np.divmod({a}, 2, out=({b}, {c})); {a}[{i}], {t} = {v}, {a}
""")
CONTAINERS = pieces("""
    box['p'] = {a}; box['p'] {o} {v}; box['new'] = {a}; row.append({a}); row[0] = {a}; row[0] {o} {v}
    row.reverse(); box['p'], row[0] = row[0], box['p']; del box['q']; {t} = box['p']; {t} = row[-1]
    box.update(q={a}, z={b}); {t} = box.pop('q'); row[1:] = [{a}, {b}]; box['q'] = box['p'][{i}]
    {t} = row.pop(); row.insert(0, {a}); {t} = box.setdefault('p', {a}); box['in'] = row; {t} = row
""")
INDICES = pieces("""
    0; -1; 1:; :-1; ::2; ::-1; ...; None; :, 0; :, 1:; ..., 0; ..., ::-1; 1, :2; 0, -1; [0, -1]; [1, 0, 1]
    np.array([[0], [1]]); :, [0, 1]; [0, 1], [1, 0]; [True, False, True]; 1:, None; (); 5:; -2:; n; :n
    ..., None, 0; [], :; np.array(1)
""")
AXES = ["", "0", "-1", "axis=0", "0, keepdims=True", "axis=(0, 1)", "None"]
NUMBERS = pieces("2; 0.5; -1; True; 1j; s; n; 3; 300; np.float32(1.5); np.int64(2)")
ALIASES = pieces("""
    a; b[1:]; a.T; a[::-1]; a.reshape(-1); b; a[..., :1]; a[...]; c[:2]; a.ravel()[1::2]; b.T[:2]; a[1:-1]
    b[::2]; a.view('u1'); b.view('i8')
""")


def leaves(tree: Any) -> list[Any]:
    """What nested dicts and lists hold."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [leaf for item in tree for leaf in leaves(item)] if isinstance(tree, list) else [tree]


def laid_out(array: Any, layout: str) -> Any:
    """The array in another memory layout."""
    if not array.ndim or layout == "c":
        return array
    if layout == "f":
        return np.asfortranarray(array)
    if layout == "gaps":
        wide = np.zeros([2 * n for n in array.shape], array.dtype)
        window = wide[tuple(slice(1, None, 2) for _ in array.shape)]
        window[...] = array
        return window
    if layout == "windows":
        memory = np.resize(array, max(1, array.size))
        return np.ndarray(array.shape, array.dtype, memory, 0, [array.itemsize] * array.ndim)
    if layout == "reversed":
        return np.flip(np.flip(array).copy())
    return np.ascontiguousarray(array.transpose(range(-1, array.ndim - 1))).transpose(
        *range(1, array.ndim), 0
    )


def make_arguments(seed: int, specs: list[tuple[Any, ...]], views: list[str]) -> list[Any]:
    """Arrays a, b, …, views of these, a dict, a list, a float and an int; other values for another seed."""
    rng = np.random.default_rng([seed, 7])
    names: dict[str, Any] = {}
    for name, (shape, dtype, layout, read_only) in zip("abc", specs, strict=False):
        values = rng.normal(size=shape) * 2
        if np.dtype(dtype).kind == "c":
            values = values + 1j * rng.normal(size=shape)
        elif dtype == "?":
            values = values > 0
        elif np.dtype(dtype).kind in "iu":
            values = np.abs(np.rint(values))
        names[name] = laid_out(np.asarray(values).astype(dtype), layout)
        names[name].flags.writeable = not read_only
    for name, text in zip("de", views, strict=False):
        names[name] = eval(text, {"np": np}, names)
    for name in "de"[len(views) :]:
        names[name] = names["a"].copy()
    box = {"p": names["b"], "q": rng.normal(size=3)}
    row = [rng.normal(size=(2, 3)), names["c"]]
    return [names[k] for k in "abcde"] + [box, row, float(rng.uniform(0.5, 2)), int(rng.integers(1, 4))]


PARAMETERS = ["a", "b", "c", "d", "e", "box", "row", "s", "n"]


class Program:
    """A program as it is drawn; `live` holds real values of the names so far."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.specs = [
            (
                self.pick(SHAPES),
                self.pick(DTYPES),
                self.pick(LAYOUTS),
                draw(st.integers(0, 15)) == 15,
            )
            for _ in range(3)
        ]
        self.views: list[str] = []
        for text in draw(st.lists(st.sampled_from(ALIASES), max_size=2)):
            try:
                self.arguments(0, [*self.views, text])
                self.views.append(text)
            except (IndexError, ValueError):
                pass
        self.live: dict[str, Any] = dict(zip(PARAMETERS, self.arguments(0), strict=True))
        self.lines: list[str] = []
        self.raises = False

    def arguments(self, seed: int, views: list[str] | None = None) -> list[Any]:
        return make_arguments(seed, self.specs, self.views if views is None else views)

    def pick(self, options: list[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def names(self) -> list[str]:
        """Names of arrays and NumPy scalars, the newest last."""
        return [k for k, v in self.live.items() if isinstance(v, (np.ndarray, np.generic))]

    def statement(self) -> str:
        """One statement with its gaps filled in."""
        fresh = f"t{len(self.lines)}"
        made = [VALUES, VIEWS, VIEWS, COPIES, REDUCED]
        table = self.pick([*made, WRITES, WRITES, CONTAINERS])
        text = self.pick(table)
        if table in made:
            text = f"{fresh} = {text}"
        names = self.names()
        gaps: dict[str, list[str]] = {
            **dict.fromkeys("abc", names),
            "v": [*NUMBERS, *names],
            "s": NUMBERS,
            **dict.fromkeys("ij", INDICES),
            "k": AXES,
            "o": IN_PLACE,
            "w": OPERATORS,
            "u": ONE,
            "f": TWO,
            "t": [fresh],
        }
        filled = {gap: self.pick(options) for gap, options in gaps.items() if "{" + gap + "}" in text}
        return str(text.format_map(filled))

    def is_machines_own(self, line: str) -> bool:
        """Whether NumPy's result depends on the machine, or on memory that is nobody's.

        `einsum("ii->i")` reads beyond an empty array, `add.at` writes into read-only ones, and so do others
        where an array is assigned to itself; in place over
        negative strides NumPy leaves its vector loops, whose powers and exponentials round otherwise, and
        raises a 0-d complex array to a power in another way than elsewhere.
        """
        words = re.findall(r"\w+", line)
        held = [v for k in ("box", "row") if k in words for v in leaves(self.live[k])]
        used = [v for v in [*held, *(self.live.get(k) for k in words)] if isinstance(v, np.ndarray)]
        if "einsum('ii" in line:
            return any(v.size == 0 for v in used)
        if "add.at" in line or "copyto" in line or ".real = " in line:
            return not all(v.flags.writeable for v in used)
        in_place = "**=" in line or "np.exp(" in line
        if in_place and any(v.dtype.kind == "c" and not v.ndim for v in used):
            return True
        return in_place and ("::-1" in line or any(s < 0 for v in used for s in v.strides))

    def grow(self) -> None:
        """Add a statement if it runs; at times one that raises, and then nothing more."""
        line = self.statement()
        if self.is_machines_own(line):
            return
        try:
            with np.errstate(all="ignore", invalid="raise" if _casts(line) else "ignore"):
                exec(line, {"np": np}, self.live)
        except Exception:
            if self.draw(st.integers(0, 30)) < 30:
                return
            self.raises = True
        self.lines.append(line)

    def result(self) -> str:
        """What is returned: names, some of them twice, nested at times."""
        names = [*self.names(), "box", "row", "s"]
        chosen = self.draw(st.lists(st.sampled_from(names[-8:] + names[:4]), min_size=1, max_size=5))
        form = self.pick(["{}", "({},)", "[{}]", "{{'r': [{}], 's': {}}}"])
        return str(form.format(", ".join(chosen), chosen[0]))

    def text(self) -> str:
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def program({', '.join(PARAMETERS)}):\n{body}    return {self.returned}\n"

    def finish(self) -> "Program":
        self.returned = self.result()
        scope: dict[str, Any] = {"np": np}
        exec(self.text(), scope)
        self.function = scope["program"]
        return self


def _casts(line: str) -> bool:
    """Whether floats may become integers: out of range the result is the machine's own."""
    return "astype" in line or "dtype" in line or "[" in line or "out=" in line or "copyto" in line


@st.composite
def programs(draw: Callable[[Any], Any], length: int) -> Program:
    """Programs of up to so many statements."""
    program = Program(draw)
    for _ in range(draw(st.integers(1, length))):
        if not program.raises:
            program.grow()
    return program.finish()


def check(judge: Callable[..., str], examples: int, length: int) -> Counter[str]:
    """Hold so many random programs against NumPy, on both executors, with passes and without."""
    seen: Counter[str] = Counter()

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(programs(length), st.sampled_from([[], [], ["simplify"], ["cse"], ["canonicalize", "cse"]]))
    def holds(program: Program, disabled: list[str]) -> None:
        note(f"{program.text()}{program.specs} {program.views} disabled={disabled}")
        for executor in ("numpy", "interpret"):
            found = judge(program.function, program.arguments, executor=executor, disabled=disabled)
            seen[found] += 1
            event(found)

    holds()
    return seen


def test_random_programs_do_what_numpy_does(judge: Callable[..., str]) -> None:
    seen = check(judge, examples=300, length=8)
    assert seen["refused"] < 0.1 * seen.total(), seen


@pytest.mark.slow
@pytest.mark.parametrize(
    "examples", [300, pytest.param(2000, marks=[pytest.mark.sweep, pytest.mark.timeout(600)])]
)
def test_long_random_programs_do_what_numpy_does(judge: Callable[..., str], examples: int) -> None:
    seen = check(judge, examples, length=20)
    assert seen["refused"] < 0.1 * seen.total(), seen
