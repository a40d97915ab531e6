"""What a block of YAML says, read with ruamel.yaml within limits: depth, values, aliases, one document, no tricks.

The limits hold while the block is composed into nodes, in which an alias is only a reference: a block that
would grow when its aliases are followed is refused before anything is constructed from it. The parser's
package is handed in, since loading it takes longer than reading a hundred notes.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any, Final, TypeVar

MAX_DEPTH: Final = 32
"""Deepest nesting."""
MAX_ALIASES: Final = 64
"""Most aliases in a block."""
MAX_VALUES: Final = 2_000
"""Most keys and values in a block, each alias counted as all that it stands for."""

# A directive could make it another version of YAML, with other types.
_DIRECTIVE: Final = re.compile(r"(?:[ \t]*+(?:#[^\r\n]*+)?[\r\n]++|(?!))*+%")
# The scanner looks ahead for as long as each bracket could begin a key, at a cost that grows with their number.
_TOO_DEEP: Final = re.compile(r"(?:[\[{][ \t\r\n]*+){33}")


W = TypeVar("W", bound="Watch")


class YamlFault(Exception):
    """The block cannot be read. *offset* is the character where that showed."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"at character {offset}")
        self.offset = offset


def parse(text: str, ruamel_yaml: ModuleType) -> dict[Any, Any]:
    """Return the mapping that *text* is; an empty one for a block without a value. YAML 1.2, plain types only.

    Raises YamlFault for anything else than one mapping, for duplicate keys, and past a limit.
    """
    value, _ = load(text, ruamel_yaml, Watch)
    return as_mapping(value)


def as_mapping(value: Any) -> dict[Any, Any]:
    """Return *value* if it is a mapping, an empty one if there is none. Raises YamlFault for anything else."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise YamlFault(0)
    return value


def load(text: str, ruamel_yaml: ModuleType, kind: type[W]) -> tuple[Any, W]:
    """Return the one value in *text*, None without any, and what watched over its nodes, one *kind* of Watch.

    Raises YamlFault as `parse` does, whatever the value is.
    """
    refused = _DIRECTIVE.match(text) or _TOO_DEEP.search(text)
    if refused is not None:
        raise YamlFault(refused.end() - 1)
    parser = ruamel_yaml.YAML(typ="safe", pure=True)
    parser.allow_duplicate_keys = False
    parser.composer.warn_double_anchors = False  # YAML allows them; the last one counts
    watch = kind(text, parser, ruamel_yaml)
    parser.composer.compose_node = watch.compose_node
    parser.constructor.construct_object = watch.construct_object
    try:
        return parser.load(text), watch
    except YamlFault:
        raise
    except ruamel_yaml.error.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlFault(mark.index if mark is not None else 0) from None
    except ruamel_yaml.reader.ReaderError as error:
        raise YamlFault(error.position) from None
    except Exception as error:
        # What the parser trips over.
        raise YamlFault(0) from error


class Watch:
    """Counts what a composer composes; its methods take the place of the parser's own."""

    def __init__(self, text: str, parser: Any, ruamel_yaml: ModuleType) -> None:
        self._text = text
        self._composer = parser.composer
        self._compose = parser.composer.compose_node
        self._construct = parser.constructor.construct_object
        self._alias_event = ruamel_yaml.events.AliasEvent
        self._yaml_error = ruamel_yaml.error.YAMLError
        self._depth = 0
        self._values = 0
        self._aliases = 0
        self._weights: dict[str, int] = {}  # what an alias to a finished anchor stands for

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose the next node, unless it is one too many."""
        event = self._composer.parser.peek_event()
        before = self._values
        is_alias = isinstance(event, self._alias_event)
        if is_alias:
            self._aliases += 1
            # An alias inside its own anchor would be a value without end; an unknown one is a fault anyway.
            weight = self._weights.get(event.anchor)
            self._values += MAX_VALUES + 1 if weight is None else weight
        else:
            self._values += 1
        self._depth += 1
        # The block itself is the first level, and what stands in its collections is one deeper.
        if self._depth > MAX_DEPTH + 1 or self._aliases > MAX_ALIASES or self._values > MAX_VALUES:
            raise YamlFault(event.start_mark.index)
        node = self._compose(parent, index)
        self._depth -= 1
        if event.anchor is not None and not is_alias:
            self._weights[event.anchor] = self._values - before
        return node

    def construct_object(self, node: Any, *, deep: bool = False) -> Any:
        """Make the value of *node*; what cannot be made is a fault where the node begins."""
        try:
            return self._construct(node, deep=deep)
        except (YamlFault, self._yaml_error):
            raise
        except Exception as error:
            # It has the form of a type and is none: a 13th month, a number with too many digits.
            raise YamlFault(node.start_mark.index) from error
