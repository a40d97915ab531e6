"""One example of each command, as `--help` shows it: a line that works for who has notes in `~/Notes`."""

from __future__ import annotations

from typing import Final

EXAMPLES: Final[dict[str, str]] = {
    "fsnotes serve": "fsnotes serve ~/Notes --read-only",
    "fsnotes doctor": "fsnotes doctor ~/Notes",
    "fsnotes snippet": "fsnotes snippet claude-code ~/Notes",
    "fsnotes completion": 'eval "$(fsnotes completion bash)"',
    "fsnotes demo": "fsnotes demo",
    "fsnotes list": "fsnotes list -w ~/Notes --recursive --tag work",
    "fsnotes read": "fsnotes read -w ~/Notes Projects/plan --section Goals",
    "fsnotes search": "fsnotes search -w ~/Notes 'water* -indoor tag:garden'",
    "fsnotes create": "fsnotes create -w ~/Notes ideas --content '# Ideas'",
    "fsnotes edit": "fsnotes edit -w ~/Notes ideas --old Ideas --new 'Good ideas' --dry-run",
    "fsnotes append": "fsnotes append -w ~/Notes ideas '- a pond' --section 'Good ideas'",
    "fsnotes properties": "fsnotes properties -w ~/Notes ideas --set 'tags=[garden]' --unset draft",
    "fsnotes move": "fsnotes move -w ~/Notes ideas 'Projects/Good ideas' --dry-run",
    "fsnotes links": "fsnotes links -w ~/Notes --direction broken",
    "fsnotes tags": "fsnotes tags -w ~/Notes work/",
    "fsnotes delete": "fsnotes delete -w ~/Notes 'Good ideas'",
    "fsnotes trash": "fsnotes trash -w ~/Notes",
    "fsnotes restore": "fsnotes restore -w ~/Notes 20260131T235959Z-0123456789abcdef0123456789abcdef --to old.md",
    "fsnotes index": "fsnotes index ~/Notes",
    "fsnotes keys": "fsnotes keys list",
    "fsnotes keys rotate": "fsnotes keys rotate",
    "fsnotes keys list": "fsnotes keys list",
    "fsnotes audit": "fsnotes audit --since 7d --outcome not_allowed",
    "fsnotes token": "fsnotes token list",
    "fsnotes token new": "fsnotes token new ci",
    "fsnotes token list": "fsnotes token list --json",
    "fsnotes token revoke": "fsnotes token revoke ci",
}
"""By the words of the command."""
