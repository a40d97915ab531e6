"""Puts the confirmation form to the person at the terminal; what an answer means is decided in `fsnotes.confirm`."""

from __future__ import annotations

from typing import Any, Final

from fsnotes.cli.console import Console, shown
from fsnotes.confirm import Form

CANCEL: Final[dict[str, Any]] = {"action": "cancel"}
DECLINE: Final[dict[str, Any]] = {"action": "decline"}


def answer_form(form: Form, console: Console) -> dict[str, Any]:
    """Show the candidates as a numbered list and return the answer in the shape that a client would send.

    Nothing but a number of the list and a typed `yes` is consent. `no` declines. An empty line, end of input and
    anything else cancel, which leaves the question open.
    """
    console.explain(form.message)
    paths = form.note_ids
    chosen = paths[0]
    if len(paths) > 1:
        typed = console.ask(f"Which one? 1 to {len(paths)}, empty to cancel: ")
        if not typed:
            return CANCEL
        by_number = {str(number): path for number, path in enumerate(paths, start=1)}
        if typed not in by_number:
            console.complain("that is none of the numbers")
            return CANCEL
        chosen = by_number[typed]
    typed = console.ask(f"Move {shown(chosen)} to the trash? yes or no: ")
    match typed.casefold() if typed else None:
        case None:
            return CANCEL
        case "yes":
            return {"action": "accept", "content": {"note_id": chosen, "confirm": True}}
        case "no" | "n":
            return DECLINE
        case _:
            console.complain("that is neither yes nor no")
            return CANCEL
