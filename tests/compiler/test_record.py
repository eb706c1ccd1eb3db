"""Records do what frozen dataclasses do: the same class written both ways behaves the same."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any

import pytest

from tapeless.compiler.ir.record import fields, record, replace


@record
class Frozen:
    name: str
    size: int = 3
    items: list[int] = field(default_factory=list)

    def doubled(self) -> int:
        return 2 * self.size


@record(slots=True)
class Slotted:
    name: str
    size: int = 3
    items: tuple[int, ...] = ()


@record(slots=True)
class Empty:
    pass


@record(eq=False)
class ById:
    name: str


@record(frozen=False)
class Mutable:
    name: str
    size: int = 3


@dataclass(frozen=True)
class Model:
    name: str
    size: int = 3
    items: tuple[int, ...] = ()


@pytest.mark.parametrize(
    "call",
    [
        lambda kind: repr(kind("a")).partition("(")[2],
        lambda kind: repr(kind("a", items=(1, 2))).partition("(")[2],
        lambda kind: kind("a") == kind("a", 3, ()),
        lambda kind: kind("a") == kind("b"),
        lambda kind: kind("a") == ("a", 3, ()),
        lambda kind: hash(kind("a", 4)),
        lambda kind: len({kind("a"), kind("a"), kind("b")}),
        lambda kind: kind.__match_args__,
    ],
)
def test_a_record_answers_as_a_dataclass_does(call: Callable[[Any], Any]) -> None:
    assert call(Slotted) == call(Model)


@pytest.mark.parametrize("kind", [Frozen, Slotted, ById], ids=lambda kind: kind.__name__)
def test_fields_of_frozen_records_stay(kind: Any) -> None:
    made = kind("a")
    with pytest.raises(FrozenInstanceError, match="name"):
        made.name = "b"
    with pytest.raises(FrozenInstanceError, match="name"):
        del made.name
    with pytest.raises(FrozenInstanceError):
        made.other = 1
    assert made.name == "a"


def test_fields_of_mutable_records_change_and_they_have_no_hash() -> None:
    made = Mutable("a")
    made.size = 4
    assert made == Mutable("a", 4)
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_each_instance_has_a_default_of_its_own() -> None:
    first, second = Frozen("a"), Frozen("a")
    first.items.append(1)
    assert second.items == []
    assert first.doubled() == 6


def test_slots_leave_no_dictionary() -> None:
    assert not hasattr(Slotted("a"), "__dict__")
    assert Slotted.__doc__ is None
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())


def test_records_without_eq_are_compared_by_identity() -> None:
    made = ById("a")
    assert made == made
    assert made != ById("a")
    assert len({made, ById("a")}) == 2


def test_methods_of_the_class_stay_its_own() -> None:
    @record
    class Shown:
        name: str

        def __repr__(self) -> str:
            return self.name

        def __eq__(self, other: object) -> bool:
            return True

    assert repr(Shown("a")) == "a"
    assert Shown("a") == Shown("b")


def test_replace_changes_what_is_named() -> None:
    made = Slotted("a", 5)
    assert fields(made) == ("name", "size", "items")
    assert replace(made, name="b") == Slotted("b", 5)
    with pytest.raises(TypeError, match="other"):
        replace(made, other=1)


@pytest.mark.parametrize("made", [Frozen("a", 4, [1]), Slotted("a", 4, (1,)), Empty(), Mutable("a")])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_records_are_copied_and_pickled(made: Any, again: Callable[[Any], Any]) -> None:
    assert again(made) == made
