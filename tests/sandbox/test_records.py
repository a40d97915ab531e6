"""Records: values as dataclasses make them, compared with these."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from sandbox.records import REQUIRED, fields, is_record, record, replace
from tests.mounts import REPOSITORY

T = TypeVar("T")


class Point:
    """A point, with a method and a property."""

    x: int
    y: int = 0
    name: str | None = None
    dimensions: ClassVar[int] = 2

    @property
    def length(self) -> int:
        """How far it is along the axes."""
        return abs(self.x) + abs(self.y)

    def moved(self, by: int) -> Any:
        """Return another one."""
        return replace(self, x=self.x + by)


Recorded: Any = record(Point)
Compared: Any = dataclass(frozen=True, slots=True)(Point)


@record
class Pair:
    """Two values."""

    first: int
    second: tuple[int, str]


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    *((values, {}) for values in [(), (1,), (1, 2), (1, 2, "a"), (1, 2, "a", 4)]),
    *(
        (values, named)
        for values, named in product(
            [(), (1,), (1, 2)],
            [
                {"x": 5},
                {"y": 5},
                {"name": "b"},
                {"x": 5, "name": "b"},
                {"z": 5},
                {"self": 5},
                {"dimensions": 3},
            ],
        )
    ),
]


@pytest.mark.parametrize(("values", "named"), CALLS)
def test_constructor_takes_what_that_of_a_dataclass_takes(
    values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    try:
        expected = Compared(*values, **named)
    except TypeError:
        with pytest.raises(TypeError):
            Recorded(*values, **named)
    else:
        made = Recorded(*values, **named)
        assert (made.x, made.y, made.name) == (expected.x, expected.y, expected.name)
        assert repr(made).replace("Recorded", "Compared") == repr(expected)
        assert made.length == expected.length


def test_values_are_equal_by_all_fields_and_by_class() -> None:
    same = [Recorded(1, 2), Recorded(1, y=2), Recorded(x=1, y=2, name=None)]
    assert len(set(same)) == 1
    assert same[0] == same[1]
    for other in (Recorded(1, 3), Recorded(2, 2), Recorded(1, 2, "a"), Compared(1, 2), (1, 2, None), None):
        assert same[0] != other
    assert record(Point)(1, 2) != same[0]


def test_fields_cannot_be_changed_and_no_others_added() -> None:
    point = Recorded(1)
    for name in ("x", "name", "other", "dimensions"):
        with pytest.raises(AttributeError):
            setattr(point, name, 2)
        with pytest.raises(AttributeError):
            delattr(point, name)
    assert point == Recorded(1)
    assert not hasattr(point, "__dict__")
    assert Recorded.__slots__ == Compared.__slots__ == ("x", "y", "name")


def test_a_copy_is_equal_and_a_record() -> None:
    pair = Pair(1, (2, "x"))
    pickled = pickle.loads(pickle.dumps(pair))  # noqa: S301 - our own bytes
    for copied in (copy.copy(pair), copy.deepcopy(pair), pickled, replace(pair)):
        assert (type(copied), copied) == (Pair, pair)


def test_replacing_changes_the_named_fields_alone() -> None:
    point = Recorded(1, 2, "a")
    assert replace(point, y=5) == Recorded(1, 5, "a")
    assert point == Recorded(1, 2, "a")
    assert point.moved(2) == Recorded(3, 2, "a")
    with pytest.raises(TypeError):
        replace(point, z=1)
    with pytest.raises(TypeError):
        replace(Compared(1), x=2)


def test_fields_tell_their_defaults_in_order() -> None:
    assert list(fields(Recorded).items()) == [("x", REQUIRED), ("y", 0), ("name", None)]
    assert is_record(Recorded)
    for other in (Compared, int, Recorded(1), None):
        assert not is_record(other)
    with pytest.raises(TypeError):
        fields(Compared)


def test_match_takes_fields_by_place() -> None:
    match Recorded(1, 2):
        case Recorded(x, y, None):
            assert (x, y) == (1, 2)
        case _:
            raise AssertionError


def test_values_are_judged_when_they_are_made_copied_or_replaced() -> None:
    @record
    class Positive:
        number: int

        def __post_init__(self) -> None:
            if self.number < 1:
                raise ValueError

    for make in (lambda: Positive(0), lambda: Positive(number=0), lambda: replace(Positive(1), number=0)):
        with pytest.raises(ValueError):
            make()
    assert Positive(1).number == 1


def test_what_the_class_writes_itself_stays() -> None:
    @record
    class Folded:
        text: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Folded) and self.text.lower() == other.text.lower()

        def __hash__(self) -> int:
            return hash(self.text.lower())

        def __repr__(self) -> str:
            return "folded"

    assert {Folded("A"), Folded("a")} == {Folded("a")}
    assert repr(Folded("A")) == "folded"


def test_a_class_without_fields_and_a_generic_one_are_records_too() -> None:
    @record
    class Nothing:
        pass

    class Answered(Generic[T]):
        __slots__ = ()

    @record
    class Number(Answered[int]):
        number: int

    assert Nothing() == Nothing()
    assert (repr(Nothing()).endswith("Nothing()"), len({Nothing(), Nothing()})) == (True, 1)
    with pytest.raises(TypeError):
        Nothing(1)  # type: ignore[call-arg]
    assert Number(1) == Number(1)
    assert Number.__orig_bases__ == (Answered[int],)  # type: ignore[attr-defined]
    assert not hasattr(Number(1), "__dict__")


def test_what_would_not_be_what_it_seems_is_refused() -> None:
    class Behind:
        first: int = 0
        second: int

    class Inherits(Recorded):  # type: ignore[misc]
        more: int

    class Shares:
        found: list[int] = []  # noqa: RUF012 - what is refused

    for kind in (Behind, Inherits, Shares):
        with pytest.raises(TypeError):
            record(kind)


def test_a_record_costs_none_of_the_modules_that_a_dataclass_does() -> None:
    code = (
        "import sys; from sandbox.records import record\n"
        "class C: x: 'int'\n"
        "record(C)(1); print({'dataclasses', 'inspect'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {REPOSITORY!r})\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")
