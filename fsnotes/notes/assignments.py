"""Says what a property is to be set to; which bytes of a note that changes is decided in `properties`."""

from __future__ import annotations

from sandbox.records import record


@record
class Assignment:
    """A property that is to be set: its *key*, and its *value* as YAML text."""

    key: str
    value: str
