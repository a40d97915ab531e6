"""Whether the links that a worker tells of are such as were asked for, in the order of their notes and places.

Its word that a link stands in a note and leads to another one is taken: both are within the grant (`answers.py`).
"""

from __future__ import annotations

import itertools
from typing import Final

from fsnotes.notes.bounds import MAX_TARGETS
from fsnotes.notes.commands import FindLinks, FindTargets, LinkFound, LinksFound, TargetsFound
from fsnotes.notes.globs import composed
from fsnotes.notes.places import is_reading

_MAX_LINKS: Final = 2**31
"""More than the number of a link of any note."""


def answers_links(command: FindLinks, reply: LinksFound) -> bool:
    """Say whether these are such links, in order, behind where the last call ended, and each told as a link can be."""
    places = [(tuple(link.source.split("/")), link.number) for link in reply.links]
    if command.after is not None:
        # Behind all links of a note, unless one is named.
        first = _MAX_LINKS if command.within is None else command.within - 1
        places.insert(0, (tuple(command.after.split("/")), first))
    return (
        len(reply.links) <= max(1, command.limit)
        and all(place < following for place, following in itertools.pairwise(places))
        and all(_is_such_a_link(command, link) for link in reply.links)
        and all(item.path is None for item in reply.skipped)
        and (reply.within is None or reply.resume is not None)
    )


def answers_targets(command: FindTargets, reply: TargetsFound) -> bool:  # noqa: ARG001 - like the others
    """Say whether each is told once, and of what was left out nothing but counts."""
    return (
        len(set(reply.targets)) == len(reply.targets)
        and all(item.path is None for item in reply.skipped)
        and (reply.within is None or reply.resume is not None)
    )


def _is_such_a_link(command: FindLinks, link: LinkFound) -> bool:
    several = len(link.targets) + link.more
    if not (several <= MAX_TARGETS if link.more == 0 else len(link.targets) == MAX_TARGETS):
        return False
    if link.reached is not None and (not link.fragment or several != 1):
        return False
    match command.direction:
        case "out":
            return is_reading(link.source, command.path)
        case "in":
            return any(is_reading(target, command.path) for target in link.targets)
        case "broken" | "ambiguous":
            leads = several == 0 if command.direction == "broken" else several > 1
            return leads and _is_at(link.source, command.path)
        case _:
            return False


def _is_at(source: str, asked: str) -> bool:
    """Say whether *source* is the note that *asked* may mean, or lies in the folder."""
    if not asked or is_reading(source, asked):
        return True
    parts, folder = composed(tuple(source.split("/"))), composed(tuple(asked.rstrip("/").split("/")))
    return parts[: len(folder)] == folder
