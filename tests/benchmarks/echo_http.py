"""The measure to compare with: the SDK's own HTTP server, with one echo tool. `echo_http.py PORT`."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from mcp.server import Server

from tests.benchmarks.echo_server import call_tool, list_tools


def main() -> None:
    """Serve on loopback until the process is ended."""
    server: Server[Any] = Server("echo", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    app = server.streamable_http_app(json_response=True)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical", access_log=False)


if __name__ == "__main__":
    main()
