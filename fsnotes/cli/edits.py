"""Changing a note from the command line: where the texts come from, and how a change is shown to a person."""

from __future__ import annotations

import argparse

from fsnotes.cli.console import Console, shown, visible
from fsnotes.cli.interrupts import uninterrupted
from fsnotes.cli.session import Session, session
from fsnotes.cli.texts import STANDARD_INPUT, from_file, from_input
from fsnotes.errors import InvalidArgument
from fsnotes.outcomes import NoteEdited


def edit(options: argparse.Namespace, console: Console) -> int:
    """Replace text in a note, or what stands under a heading."""
    if options.old_file == options.new_file == STANDARD_INPUT:
        raise InvalidArgument(
            "newText", "standard input cannot be both texts, so give one by a file or a flag"
        )
    with session(options, console) as here:
        old = _given(options.old, options.old_file, "oldText", "--old", options, console, here)
        new = _given(options.new, options.new_file, "newText", "--new", options, console, here)
        if new is None:
            if options.old_file == STANDARD_INPUT:
                raise InvalidArgument(
                    "newText", "standard input is the text to replace, and there is no --new"
                )
            new = from_input("newText", "--new", options.path, console, limit=_limit(here))
        with uninterrupted():
            outcome = here.service.edit(
                here.call,
                here.uri,
                options.path,
                new,
                old_text=old,
                heading=options.heading,
                expected_matches=options.expected,
                if_match=options.if_match,
                dry_run=options.dry_run,
            )
    return _show(outcome, options, console, done="edited", would="would edit")


def append(options: argparse.Namespace, console: Console) -> int:
    """Add text to a note or a section."""
    with session(options, console) as here:
        text = options.text
        if text in (None, STANDARD_INPUT):
            text = from_input("text", "TEXT", options.path, console, limit=_limit(here))
        with uninterrupted():
            outcome = here.service.append(
                here.call,
                here.uri,
                options.path,
                text,
                heading=options.heading,
                position=options.position,
                if_match=options.if_match,
                dry_run=options.dry_run,
            )
    return _show(outcome, options, console, done="added to", would="would add to")


def properties(options: argparse.Namespace, console: Console) -> int:
    """Set and unset properties of a note."""
    assign = [_assignment(word) for word in options.set]
    with session(options, console) as here, uninterrupted():
        outcome = here.service.properties(
            here.call,
            here.uri,
            options.path,
            assign=assign,
            remove=options.unset,
            if_match=options.if_match,
            dry_run=options.dry_run,
        )
    for key in outcome.reply.absent:
        console.complain(f"{shown(outcome.reply.path)} has no property {shown(key)}")
    return _show(outcome, options, console, done="edited", would="would edit")


def _assignment(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals:
        raise InvalidArgument("set", f"{shown(word)} is no KEY=VALUE; put a = between them")
    return key, value


def _given(
    text: str | None,
    file: str | None,
    argument: str,
    option: str,
    options: argparse.Namespace,
    console: Console,
    here: Session,
) -> str | None:
    """Return the text as it is given, in words or as a file, None where it is not."""
    if file is None:
        return text
    if file == STANDARD_INPUT:
        return from_input(argument, option, options.path, console, limit=_limit(here))
    return from_file(file, argument, options.path, limit=_limit(here))


def _limit(here: Session) -> int:
    return here.workspace.policy.max_file_bytes


def _show(
    outcome: NoteEdited, options: argparse.Namespace, console: Console, *, done: str, would: str
) -> int:
    """Show what was done: the diff too where a person reads, and where nothing else was asked for."""
    path = shown(outcome.reply.path)
    if outcome.reply.not_kept:
        console.complain(f"not kept of {path}: {', '.join(outcome.reply.not_kept)}")
    if options.json:
        console.show_json(outcome.document())
        return 0
    match outcome.outcome:
        case "unchanged":
            console.say(f"{path} is so already; nothing was changed")
        case "would_change":
            console.say(f"{would} {path}")
        case _:
            console.say(f"{done} {path}")
    if outcome.reply.diff and outcome.shows_text:
        if console.is_terminal:
            console.say(visible(outcome.reply.diff).removesuffix("\n"))
        elif outcome.dry_run:
            console.show_text(outcome.reply.diff)
    return 0
