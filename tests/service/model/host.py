"""A server process for the model: `python -m tests.service.model.host TOP KIND`; it prints its port.

What is served, and how, is the product's; only who calls is told by names that the model knows.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any, cast

from fsnotes.http_settings import HttpSettings
from fsnotes.identity import Authenticator
from fsnotes.server import ServerSettings
from fsnotes.server.http import bind, serve_http
from tests.server.http.hosting import Callers
from tests.service.model.servers import build
from tests.service.model.world import World


def main() -> int:
    """Serve until a signal comes."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    world, kind = World(Path(sys.argv[1])), cast(Any, sys.argv[2])
    product = build(world, kind)
    http = HttpSettings(port=0, calls_per_second=100_000.0, call_burst=100_000)
    listening = bind(http, authenticated=True)
    product.keep_tidy()
    product.keep_indexes()
    print(listening.getsockname()[1], flush=True)
    code = serve_http(
        product,
        ServerSettings(),
        http,
        listening=listening,
        authenticator=cast("Authenticator", Callers(world.top, issued=False)),
    )
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
