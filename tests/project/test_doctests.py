"""The examples in docstrings run, module by module, imported by name.

pytest's own --doctest-modules would import the root a second time under the folder's name.
"""

import doctest
import importlib


def test_examples_in_docstrings(module_name: str) -> None:
    module = importlib.import_module(module_name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
