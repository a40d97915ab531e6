"""`token`: the static bearer tokens for HTTP. A token is shown once, when it is made, and kept nowhere."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from fsnotes.cli import columns
from fsnotes.cli.console import Console
from fsnotes.cli.logs import start_logging
from fsnotes.cli.settings import settings_for
from fsnotes.identity.token_file import Token, TokenFile
from fsnotes.outcomes import timestamp
from fsnotes.state import StateFolder


def _file(options: argparse.Namespace) -> TokenFile:
    settings = settings_for(options)
    start_logging(settings.log_level, settings.log_format)
    return TokenFile(StateFolder.open(settings.state_dir).tokens)


def new(options: argparse.Namespace, console: Console) -> int:
    """Make a token and print it, alone. Others of the same name stay usable until they are revoked."""
    made, text = _file(options).add(_named(options.name))
    if options.json:
        console.show_json({**_document(made), "token": text})
    else:
        console.say(text)
    return 0


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
