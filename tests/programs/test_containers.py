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
