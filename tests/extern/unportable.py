"""A server over stdio of one tool whose schema not every client takes: to see that the Inspector would say so."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

SCHEMA: Final = {"type": "object", "properties": {"anything": True}}
ANSWERS: Final[dict[str, dict[str, Any]]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "unportable", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "odd_tool", "description": "Odd.", "inputSchema": SCHEMA}]},
}


def main() -> None:
    """Answer until the end of the input."""
    for line in sys.stdin:
        frame = json.loads(line)
        if "id" in frame:
            answer = {"jsonrpc": "2.0", "id": frame["id"], "result": ANSWERS.get(frame["method"], {})}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
