"""What `<` begins within text: autolinks, and tags and other raw HTML (CommonMark 6.5 and 6.6)."""

from __future__ import annotations

import re
from typing import Final

from fsnotes.notes.markdown.html import CLOSING_TAG, OPEN_TAG

TAG: Final = re.compile(OPEN_TAG + r"|" + CLOSING_TAG)
AUTOLINK: Final = re.compile(
    r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\x01-\x20<>]*+"
    r"|[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]++"
    r"@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*+)>"
)
"""An absolute URI or an e-mail address."""
# What else is raw HTML: how it begins, what ends it, and how far behind its beginning that may stand.
SPANS: Final = (
    (re.compile(r"<!--"), "-->", 2),
    (re.compile(r"<!\[CDATA\["), "]]>", 9),
    (re.compile(r"<![A-Za-z]"), ">", 3),
    (re.compile(r"<\?"), "?>", 2),
)
