"""`token`: the static bearer tokens for HTTP. A token is shown once, when it is made, and kept nowhere."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from fsnotes.cli import columns
from fsnotes.cli.console import Console, OutputFailed
from fsnotes.cli.logs import start_logging
from fsnotes.cli.settings import settings_for
from fsnotes.errors import FsnotesError
from fsnotes.identity.token_file import Token, TokenFile
from fsnotes.outcomes import timestamp
from fsnotes.state import StateFolder


def _file(options: argparse.Namespace) -> TokenFile:
    settings = settings_for(options)
    start_logging(settings.log_level, settings.log_format)
    return TokenFile(StateFolder.open(settings.state_dir).tokens)


def new(options: argparse.Namespace, console: Console) -> int:
    """Make a token and print it, alone. Others of the same name stay usable until they are revoked.

    One that could not be printed is revoked again: it is good for nobody, and would stay valid unseen.
    """
    file = _file(options)
    made, text = file.add(_named(options.name))
    try:
        if options.json:
            console.show_json({**_document(made), "token": text})
        else:
            console.say(text)
        console.flush()
    except (OutputFailed, BrokenPipeError) as error:
        # Here a reader that went away had not enough: whoever asked for a token must not be told that all is well.
        why = error.strerror if isinstance(error, BrokenPipeError) else str(error)
        raise OutputFailed(why, left=_take_back(file, made)) from error
    except BaseException:
        _take_back(file, made)
        raise
    return 0


def _take_back(file: TokenFile, made: Token) -> str:
    """Revoke a token that nobody has seen, and return what is left of it."""
    try:
        file.revoke(made.id)
    except FsnotesError:
        return f"the token {made.id} stays valid: fsnotes token revoke {made.id} ends it"
    return "the token was revoked again"


def show(options: argparse.Namespace, console: Console) -> int:
    """List the tokens, the oldest first."""
    return _show(_file(options).read().tokens, options, console)


def revoke(options: argparse.Namespace, console: Console) -> int:
    """End the token of an id, or all of a name, and list them. Servers that run refuse them at once."""
    return _show(_file(options).revoke(_named(options.token)), options, console)


def _named(words: str) -> str:
    """Return the name that is meant: a principal, as a grant writes it, means its name."""
    return words.removeprefix("token:")


def _show(tokens: Sequence[Token], options: argparse.Namespace, console: Console) -> int:
    if options.json:
        console.show_json({"tokens": [_document(token) for token in tokens]})
        return 0
    width = max((len(token.name) for token in tokens), default=0)
    for token in tokens:
        if console.is_terminal:
            console.say(f"{token.id}  {token.name:<{width}}  made {columns.moment(token.created)}")
        else:
            console.say(f"{token.id}\t{token.name}\t{_made(token)}")
    return 0


def _document(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "principal": token.principal.name,
        "created": _made(token),
    }


def _made(token: Token) -> str:
    return timestamp(token.created * 1_000_000_000)
