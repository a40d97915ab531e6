"""Sends log records to stderr, as text or as JSON lines."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any, Final

from sandbox.names import display

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class _Text(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        # A record may quote a name from outside; a line break in it would forge a record.
        return display(super().formatMessage(record))

    def formatException(self, ei: logging._SysExcInfoType) -> str:  # noqa: N802 - the library's name
        return "\n".join(display(line) for line in super().formatException(ei).split("\n"))


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        # What a record has as fields besides: the same that its message says.
        fields |= getattr(record, "fields", {})
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def start_logging(level: str, form: str) -> None:
    """Log records of *level* and above to stderr, in *form* `text` or `json`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text("fsnotes: %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_LEVELS[level])
