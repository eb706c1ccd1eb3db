"""Every public function that NumPy dispatches is supported and tried, or raises naming itself."""

import re
from pathlib import Path

import numpy as np
import pytest

import tapeless as tl
from tapeless.tracer.errors import UnsupportedError
from tapeless.tracer.numpy_table import listing, registry

FUNCTIONS = {
    f"np.{listing.prefix(module)}{name}": function
    for module in listing.MODULES
    for name, function in listing.dispatched(module)
}
REFUSED = listing.refused()
SOURCE = "\n".join(
    path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("test_*.py"))
)


def test_much_is_supported():
    assert len(list(listing.function_rows())) > 240
    assert listing.ufuncs()[1] == ["isnat"]


@pytest.mark.parametrize("name", REFUSED)
def test_refused_functions_name_themselves(name):
    with pytest.raises(UnsupportedError, match=re.escape(f"{name} is not supported")):
        tl.compile(lambda x: registry.call(FUNCTIONS[name], (x,), {}))(np.ones(3))


@pytest.mark.parametrize("name", listing.methods()[1])
def test_refused_methods_name_themselves(name):
    with pytest.raises(UnsupportedError, match=rf"ndarray\.{name} is not supported"):
        tl.compile(lambda x: getattr(x, name))(np.ones(3))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in REFUSED])
def test_supported_functions_are_tried(name):
    last = name.rpartition(".")[2]
    assert re.search(rf"\b{re.escape(name)}\b|\bnp\.\w*\.?{last}\b|\.{last}\(", SOURCE), (
        f"no test calls {name}"
    )


@pytest.mark.parametrize("name", listing.ufuncs()[0])
def test_ufuncs(name, everywhere):
    ufunc = getattr(np, name)
    if ufunc.signature is not None:
        everywhere(lambda x, y: ufunc(x, y), "vector", "dflD")
    elif ufunc.nin == 1:
        everywhere(lambda x: ufunc(x), "vector matrix zero_d scalar", "dfl?D")
    else:
        everywhere(lambda x, y: ufunc(x, y), "vector matrix zero_d scalar", "dfl?D")
