"""Which links there are, a bounded stretch of the workspace a call: from a note, to a note, to nothing, to several.

A link stands where its path is written: one by reference at its definition. Those with a scheme are none of ours. What
is a link is decided in `markdown`, where it leads in `catalogue.py`, what of the workspace a caller sees in `views.py`.
"""

from __future__ import annotations

import time
from typing import Final

from fsnotes.errors import NoteNotFound, PathRefused
from fsnotes.notes.begun import Scanned
from fsnotes.notes.bounds import MAX_SHOWN, MAX_TARGETS
from fsnotes.notes.catalogue import Resolution, in_order, style_of
from fsnotes.notes.commands import FindLinks, LinkFound, LinksFound
from fsnotes.notes.fragments import Landmarks
from fsnotes.notes.link_walk import LinkWalk, may_have_links
from fsnotes.notes.markdown.links import Link
from fsnotes.notes.mentions import Mentions
from fsnotes.notes.model import is_note, stem
from fsnotes.notes.places import existing_folder, existing_note, open_note
from fsnotes.notes.scope import Scope
from fsnotes.notes.sieves import with_link_to
from fsnotes.notes.stretches import MANY_ENTRIES, Clock, Stretch
from fsnotes.notes.texts import decoded
from fsnotes.notes.workspace import Workspace
from sandbox.errors import Missing, NotAFolder, SandboxError
from sandbox.names import ROOT, RelPath
from sandbox.root import Root

_MOST_ORDERED: Final = 1_000


def find(
    workspace: Workspace, scope: Scope, command: FindLinks, *, clock: Clock = time.monotonic
) -> LinksFound:
    """Find links in a stretch of the workspace; see `FindLinks`. Raises NotCounted.

    A note that is named and is not text raises NotText; any other one is skipped.
    """
    root = workspace.root
    if command.direction == "out":
        return _in_note(workspace, scope, command, command.path, clock)
    if command.direction == "in":
        target = existing_note(root, scope, command.path)
        root.stat(target)  # raises unless it is one that may be opened
        return _in_folder(workspace, scope, command, "", clock, target=target)
    folder = _folder(root, scope, command.path)
    if folder is None:
        return _in_note(workspace, scope, command, command.path, clock)
    return _in_folder(workspace, scope, command, str(folder), clock)


def _folder(root: Root, scope: Scope, text: str) -> RelPath | None:
    """Return the folder that *text* means, the root for all there is; None where it means a note.

    A name without a note's suffix is a folder's if there is one of that name.
    """
    path = RelPath.parse_folder(text)
    if path == ROOT:
        return ROOT
    if is_note(path.name) and not text.endswith("/"):
        return None
    try:
        return existing_folder(root, scope, text)
    except (Missing, NotAFolder, NoteNotFound, PathRefused):
        if text.endswith("/"):
            raise
        return None


def _in_note(workspace: Workspace, scope: Scope, command: FindLinks, text: str, clock: Clock) -> LinksFound:
    path, content = open_note(workspace.root, scope, text)
    note = decoded(content.data, path=str(path))
    search = _Search(workspace, scope, command, clock)
    stopped = search.take(str(path), note, first=command.within or 0)
    return LinksFound(tuple(search.found), (), None if stopped is None else str(path), stopped)


def _in_folder(
    workspace: Workspace,
    scope: Scope,
    command: FindLinks,
    folder: str,
    clock: Clock,
    *,
    target: RelPath | None = None,
) -> LinksFound:
    search = _Search(workspace, scope, command, clock, target=target)
    mentions = None if target is None else Mentions([stem(target.name)])
    wanted = None if target is None else with_link_to(workspace.index, str(target))
    stretch = Stretch(
        workspace.root, scope, folder, after=command.after, entries=MANY_ENTRIES, wanted=wanted, clock=clock
    )
    walked = search.through(
        stretch,
        after=command.after,
        within=command.within,
        may_count=may_have_links if mentions is None else mentions.may_be_in,
    )
    return LinksFound(tuple(search.found), *walked)


class _Search(LinkWalk):
    """What one call looks for and what it has found."""

    def __init__(
        self,
        workspace: Workspace,
        scope: Scope,
        command: FindLinks,
        clock: Clock,
        *,
        target: RelPath | None = None,
    ) -> None:
        super().__init__(workspace, scope, clock, anew=command.anew)
        self.found: list[LinkFound] = []
        self._direction = command.direction
        self._most = max(1, command.limit)
        self._target = None if target is None else str(target)
        self._looked = 0
        self._landmarks: dict[str, Landmarks | None] = {}
        # Whether the target is among the files that a path answers to, by the tuple of these: there are few.
        self._answers: dict[int, tuple[tuple[str, ...], bool]] = {}

    @property
    def may_end(self) -> bool:
        """Whether enough was done for the time to matter."""
        return self._looked > 0 or super().may_end

    @property
    def is_full(self) -> bool:
        """Whether the call has done what it may."""
        return len(self.found) >= self._most or super().is_full

    def judge(self, source: str, number: int, link: Link, scanned: Scanned, resolution: Resolution) -> None:
        """Note the link if it is one of those that are looked for."""
        if self._is_wanted(source, resolution.ids):
            shown = self._shown(source, number, link, scanned, resolution)
            self.told += len(source) + sum(map(len, shown.targets))
            self.found.append(shown)

    def _is_wanted(self, source: str, ids: tuple[str, ...]) -> bool:
        match self._direction:
            case "in":
                # What leads to itself is no reason to keep a note.
                return source != self._target and self._has_target(ids)
            case "broken":
                return not ids
            case "ambiguous":
                return len(ids) > 1
            case direction:
                return direction == "out"

    def _has_target(self, ids: tuple[str, ...]) -> bool:
        if len(ids) < 2:
            return self._target in ids
        # The tuple is kept, so that no other one can have its identity.
        known = self._answers.get(id(ids))
        if known is None:
            known = self._answers[id(ids)] = ids, self._target in ids
        return known[1]

    def _shown(
        self, source: str, number: int, link: Link, scanned: Scanned, resolution: Resolution
    ) -> LinkFound:
        text = scanned.text
        targets = resolution.ids
        if len(targets) > 1:
            ordered = in_order(targets[:_MOST_ORDERED], source)[:MAX_TARGETS]
            if self._target is not None and self._target not in ordered:
                ordered[-1] = self._target
            targets = tuple(ordered)
        return LinkFound(
            source,
            number,
            scanned.lines.line(link.start),
            _cut(text[link.start : link.end]),
            targets,
            len(resolution.ids) - len(targets),
            None if link.fragment is None else _cut(link.fragment),
            self._reaches(source, text, link, resolution.id),
        )

    def _reaches(self, source: str, text: str, link: Link, target: str | None) -> bool | None:
        """Say whether the link's fragment stands in the note that it leads to; None where that is not to be told."""
        if not link.fragment or target is None or not is_note(target):
            return None
        if target not in self._landmarks:
            self._looked += 1
            try:
                note = text if target == source else self._read(target)
                self._landmarks[target] = Landmarks(note)
            except (SandboxError, UnicodeDecodeError):
                self._landmarks[target] = None
        landmarks = self._landmarks[target]
        return None if landmarks is None else landmarks.has(link.fragment, style_of(link.form))

    def _read(self, target: str) -> str:
        return self.root.read(RelPath.parse(target)).data.decode("utf-8")


def _cut(text: str) -> str:
    """Return *text* on one line; of a long one its beginning and its end, where a Markdown link has its path."""
    text = " ".join(text.split())
    if len(text) <= MAX_SHOWN:
        return text
    return f"{text[: MAX_SHOWN // 2]}…{text[1 - MAX_SHOWN // 2 :]}"
