"""What a record is: a frozen value with named fields, like a frozen, slotted dataclass, made without compiling code.

A dataclass writes its methods as text and compiles them, half a millisecond for each class, and brings `inspect`
along. A worker has some sixty such classes to load before it can serve, so what a worker loads uses records; elsewhere
a dataclass does the same. Type checkers see no difference (PEP 681).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")

_FIELDS: Final = "__record_fields__"
_CLASS_VARIABLE: Final = "ClassVar["


@dataclass_transform(frozen_default=True)
def record(kind: type[T]) -> type[T]:
    """Return *kind* anew with a slot for each annotated name, in order, and the methods of a value.

    They are a constructor that takes the fields by place or by name and then calls `__post_init__`, `==` and `hash`
    by all fields, and a `repr`; what the class writes itself stays. Setting or deleting a field raises
    AttributeError. Copies are made, and unpickled, through the constructor.

    Annotations must be texts (`from __future__ import annotations`); those that begin with `ClassVar[` are no fields.
    Raises TypeError for a default that can be changed, since all values would share it, for a field without a default
    behind one that has one, and for a class that inherits fields.
    """
    names = tuple(name for name, hint in kind.__annotations__.items() if not hint.startswith(_CLASS_VARIABLE))
    if any(hasattr(base, _FIELDS) for base in kind.__mro__[1:]):
        raise TypeError(f"{kind.__name__}: the fields of a record are not inherited")
    body = {name: value for name, value in vars(kind).items() if name not in ("__dict__", "__weakref__")}
    defaults = {name: body.pop(name) for name in names if name in body}
    if tuple(defaults) != names[len(names) - len(defaults) :]:
        raise TypeError(f"{kind.__name__}: a field without a default stands behind one that has one")
    if any(isinstance(default, list | dict | set) for default in defaults.values()):
        raise TypeError(f"{kind.__name__}: the default of a field can be changed")
    values = attrgetter(*names) if names else _nothing
    given = {"__repr__": _repr, "__eq__": _equal(values), "__hash__": _hash(values), "__reduce__": _reduce}
    make: Any = type(kind)
    made = make(
        kind.__name__,
        kind.__bases__,
        {
            **{name: method for name, method in given.items() if name not in body},
            **body,
            "__slots__": names,
            "__match_args__": names,
            "__setattr__": _refuse,
            "__delattr__": _refuse,
            _FIELDS: MappingProxyType({name: defaults.get(name, REQUIRED) for name in names}),
        },
    )
    made.__init__ = _constructor(made, names, defaults)
    return made  # type: ignore[no-any-return]  # it has the bases and the body of *kind*


class Required:
    """Stands for the default that a field does not have."""


REQUIRED: Final = Required()


def is_record(kind: object) -> bool:
    """Say whether *kind* is a class of records."""
    return isinstance(kind, type) and hasattr(kind, _FIELDS)


def fields(kind: type[Any]) -> Mapping[str, object]:
    """Return the fields of a class of records, in order, each with its default or REQUIRED.

    Raises TypeError for another class.
    """
    if not is_record(kind):
        raise TypeError(f"{kind!r} is no class of records")
    found: Mapping[str, object] = getattr(kind, _FIELDS)
    return found


def replace(value: T, **changes: Any) -> T:
    """Return *value* with other values in some fields, judged by its constructor. Raises TypeError for other names."""
    kind = type(value)
    return kind(**{name: getattr(value, name) for name in fields(kind)} | changes)


# -- methods -----------------------------------------------------------------------------------


def _constructor(kind: type[Any], names: tuple[str, ...], defaults: Mapping[str, Any]) -> Callable[..., None]:
    count = len(names)
    puts = tuple(vars(kind)[name].__set__ for name in names)
    check: Callable[[Any], None] | None = getattr(kind, "__post_init__", None)

    def __init__(self: Any, /, *values: Any, **named: Any) -> None:  # noqa: N807 - a method
        if named or len(values) != count:
            values = _complete(kind.__name__, names, defaults, values, named)
        for put, value in zip(puts, values):  # noqa: B905 - they are as many, and `strict` doubles the time
            put(self, value)
        if check is not None:
            check(self)

    return __init__


def _complete(
    title: str,
    names: tuple[str, ...],
    defaults: Mapping[str, Any],
    values: tuple[Any, ...],
    named: dict[str, Any],
) -> tuple[Any, ...]:
    """Return a value for each of *names*: given by place, by name, or else its default."""
    if len(values) > len(names):
        raise TypeError(f"{title} has {len(names)} fields, and {len(values)} values were given")
    found = list(values)
    for name in names[len(values) :]:
        if name in named:
            found.append(named.pop(name))
        elif name in defaults:
            found.append(defaults[name])
        else:
            raise TypeError(f"{title} needs a value for {name!r}")
    if named:
        raise TypeError(f"{title} has no field, or has it twice: {', '.join(map(repr, named))}")
    return tuple(found)


def _equal(values: Callable[[Any], object]) -> Callable[[Any, object], bool]:
    def __eq__(self: Any, other: object) -> bool:  # noqa: N807 - a method
        if type(other) is not type(self):
            return NotImplemented
        return values(self) == values(other)

    return __eq__


def _hash(values: Callable[[Any], object]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807 - a method
        return hash(values(self))

    return __hash__


def _nothing(_: object) -> tuple[()]:
    return ()


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields(type(self)))
    return f"{type(self).__qualname__}({shown})"


def _reduce(self: Any) -> tuple[type[Any], tuple[Any, ...]]:
    return type(self), tuple(getattr(self, name) for name in fields(type(self)))


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")
