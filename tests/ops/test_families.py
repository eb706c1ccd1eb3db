"""The list of families is what the files hold, and a family is loaded when it is needed."""

import subprocess
import sys

import pytest

from tapeless.compiler.ir import OpDef
from tapeless.compiler.ir.opdef import OPS, PLACES, get_op, home_of
from tapeless.compiler.ops import FAMILIES


def test_a_primitive_stands_in_the_file_of_its_family(op: OpDef) -> None:
    home = home_of(op.name)
    assert home is not None
    assert PLACES[op.name][0] == sys.modules[home].__file__


def test_every_name_in_the_list_is_a_primitive() -> None:
    listed = [name for names in FAMILIES.values() for name in names.split()]
    assert sorted(listed) == sorted(OPS)


def test_unknown_names_are_missing() -> None:
    assert "no_such_op" not in OPS
    assert OPS.get("no_such_op") is None
    with pytest.raises(KeyError, match="no_such_op"):
        get_op("no_such_op")


RUN = """
import sys
from tapeless.compiler.ir import Builder, Kind, OpDef
from tapeless.compiler.ir.opdef import OPS, register
from tapeless.compiler.ir.types import array_type
import numpy as np

def loaded(family):
    return f"tapeless.compiler.ops.{family}" in sys.modules

assert not loaded("fft") and not loaded("sort")
assert "rfft" in OPS and not loaded("fft")
b = Builder()
x = b.param("x", array_type((3,), np.dtype("f8")))
assert b.sort(x, axis=0, kind=None).op.name == "sort"
assert loaded("sort") and not loaded("fft")
record = OpDef("rfft", "mine", Kind.OTHER, lambda types, attrs: types[0], np.fft.rfft, lambda *_: ())
try:
    register(record)
except ValueError as error:
    print(error)
assert OPS["rfft"] is not record and loaded("fft")
print(len(OPS) > 150, loaded("eigen"))
"""


def test_families_are_loaded_one_by_one() -> None:
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["an op named 'rfft' exists already", "True True"]
