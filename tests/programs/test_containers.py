"""Small programs about dicts, lists, tuples and dataclasses: changes reach the caller's own.

A table has programs: a name, arguments (`mk` makes random arrays of a shape and dtype), and indented lines.
"""

import collections
import copy
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import tapeless as tl
from tapeless import specialize
from tapeless.tracer.errors import TapelessInternalError
from tapeless.tracer.trace import NeedsStatic

__all__ = ["collections", "copy"]


@dataclasses.dataclass
class P:
    w: Any
    b: Any = 0.0


class NT(NamedTuple):
    a: Any
    b: Any


class Recent(collections.deque[Any]):
    pass


class Padded(list[Any]):
    def __init__(self, length: int) -> None:
        super().__init__([0.0] * length)


class Pair(tuple[Any, ...]):
    def __new__(cls, first: Any, second: Any) -> "Pair":
        return super().__new__(cls, (first, second))


class Loud(dict[str, Any]):
    def update(self, *args: Any, **kwargs: Any) -> None:
        raise AssertionError("a subclass's own methods are for the function to call")

    clear = update


PROGRAMS = """
copy  x=mk(6)
    y = copy.copy(x); z = copy.deepcopy([x, x]); y += 1; z[0][0] = 5
    return y, z, z[0] is z[1], copy.copy(x[0]) is x[0]
deepcopy_dict  d={'a': mk(3), 'b': mk(2)}
    e = copy.deepcopy(d); e['a'] += 1; f = copy.copy(d); f['b'] -= 1; f['c'] = 3; return (e, f)
dataclass  p=P(mk(3), mk(3))
    p.w -= 1; p.b = p.w * 2; return p
dataclass_new  p=P(mk(3), 2.0)
    return dataclasses.replace(p, w=p.w + 1), P(p.w[1:], p.b * 2)
namedtuple  t=NT(mk(3), mk(2))
    t.a[0] = 7; return (t._replace(b=t.b * 2), NT(*t), t.a, t)
odict  d=collections.OrderedDict(z=mk(2), a=mk(3))
    d.move_to_end('z'); d['n'] = d.pop('a') + 1; return (d, list(d))
defaultdict  d=collections.defaultdict(list, {'k': [mk(2)]})
    d['q'].append(d['k'][0] * 2); d['k'][0] += 1; return len(d)
dict_order  d={'b': mk(2), 'a': mk(2)}
    d['c'] = d['a']; del d['b']; d['b'] = d['c'] + 1; return (list(d), {**d, 'z': d['a'][0]})
dict_misc  d={'b': mk(2), 'a': mk(2)}
    x = d.setdefault('b', None); y = d.setdefault('n', np.zeros(2)); y += x; d.update(a=x * 2)
    z = d.pop('zz', 5); k = d.get('q'); return (z, k, 'a' in d, len(d), d.popitem())
dict_swap  d={'b': mk(2), 'a': mk(2)}
    d['a'], d['b'] = (d['b'], d['a'])
list_misc  l=[mk(2), mk(3), mk(1)]
    l.insert(1, l[0] * 2); del l[0]; l[1:2] = [l[0], l[0]]; l.extend([np.ones(2)]); l += [l[0][0]]
    l *= 1; l.sort(key=len) if False else None; return (len(l), l[::-1])
deque  d=collections.deque([mk(2), mk(3)], maxlen=3), p={'d': collections.deque([mk(2)])}
    x = d[0]; d.append(x * 2); d.appendleft(d.popleft() + 1); d.rotate(1); d[1] = d[0] + 1; x += 1
    p['d'].extend([x, 3.0]); del p['d'][0]; return (d, len(d), d.maxlen, d[-1])
deque_pushes_out  d=collections.deque([mk(2), mk(2), 1.0], maxlen=3)
    d.append(d[0] * 2); d.appendleft(2.0); return [x for x in d]
deque_new  x=mk(3)
    return collections.deque([x[1:], x * 2, 1], maxlen=5), collections.deque()
deque_shared  d=collections.deque([mk(2)]), l=[mk(2)]
    l.append(d); d.append(l[0]); d[0] -= 1; return l[1] is d
deque_subclass  d=Recent([mk(2), mk(2)], maxlen=2)
    d.append(d[0] + d[1]); return d
counter  x=mk(3), k=collections.Counter(a=2, b=0)
    k['a'] += 1; k.update('bc'); return x * k['a'], collections.Counter(a=2), k['b']
counter_shape  x=mk(4), k=collections.Counter(a=2)
    return x[: k['a']], k.most_common(), collections.Counter(w=x[0] * 2)
ordered_dict  o=collections.OrderedDict(b=mk(2), a=mk(2))
    o.move_to_end('b'); o['c'] = o['a'] * 2; return collections.OrderedDict(z=o['b'], y=1)
default_dict  d=collections.defaultdict(list, a=[mk(2)])
    d['b'].append(d['a'][0] + 1); return d['c']
dict_subclass  d=Loud(a=mk(2))
    d['b'] = d['a'] * 2; del d['a']; return Loud(c=d['b'])
list_subclass  x=mk(2), l=Padded(2)
    l[0] = x; l.append(x * 2); made = Padded(2); made.append(x + 1); return made, l
tuple_subclass  t=Pair(mk(2), 3.0)
    t[0][0] = 5; return Pair(t[0] * t[1], t)
list_clear  l=[mk(2), mk(3), mk(1)]
    x = l[0]; l.clear(); l.append(x); x += 1
list_sortlen  l=[mk(2), mk(3), mk(1)]
    l.sort(key=len)
nested  d={'w': [mk(2), {'b': mk(2)}]}
    d['w'][1]['b'] += d['w'][0]; d['w'].append(d['w'][1]); d['self'] = d['w'][1]['b'][0]
    return d['w'][2] is d['w'][1]
starred  x=mk(2, 3), d={'a': 1, 'b': [2.0, mk(2)]}, t=(mk(1), (2,))
    def g(x, a=0, b=None, *r, **k):
        return (x * a, b[1] + b[0], r, k)
    return (g(x, **d), g(*(x, 1, [1, t[0]]), *t, z=3))
empties  x=mk(3), a=None, b=True, c='s', d=(), e=[], f={}
    return x, a, b, c, d, e, f, not d, len(e)
"""


def test_it_does_what_numpy_does(program: Any, executor: str, judge: Any) -> None:
    assert judge(program.function, program.arguments, executor=executor) == "same"


@pytest.mark.parametrize("kind", [collections.deque, Recent])
def test_how_many_a_deque_holds_is_part_of_the_signature(kind: Any) -> None:
    compiled = tl.compile(lambda d: d.append(d[0] * 2))
    for most in (2, None, 3, 2, 5):
        mine, other = (kind([np.ones(2), 3.0], maxlen=most) for _ in range(2))
        compiled(mine)
        other.append(other[0] * 2)
        assert repr(mine) == repr(other)


def test_what_is_beside_the_slots_of_a_container_is_kept() -> None:
    def tagged(x: Any) -> Any:
        made, pair = Padded(1), Pair(x, 1)
        made[0], made.tag, pair.tag = x * 2, "list", "tuple"  # type: ignore[attr-defined]
        return made, pair

    compiled = tl.compile(tagged)
    for _ in range(4):
        made, pair = compiled(np.ones(2))
        assert (made.tag, pair.tag, type(made), type(pair)) == ("list", "tuple", Padded, Pair)


def test_a_demand_that_is_never_met_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def demanding(*args: Any, **kwargs: Any) -> None:
        need = NeedsStatic((), "an index")
        need.leaves = (1,)
        raise need

    monkeypatch.setattr(specialize, "trace_function", demanding)
    with pytest.raises(TapelessInternalError, match="an int is used as an index, and is still traced"):
        tl.compile(lambda x, k: x[k])(np.ones(3), 1)
