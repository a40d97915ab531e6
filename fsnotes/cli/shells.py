"""Decides how bash, zsh and fish are told what may be typed. Each script stands alone and asks for workspaces only.

All three find the command in the words before the cursor, and skip the values of options on the way. No word of the
grammar and no name of a workspace is ever evaluated.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Final

from fsnotes.cli.completion import Option, Place

Places = tuple[Place, ...]


def _quoted(words: tuple[str, ...]) -> str:
    return " ".join(shlex.quote(word) for word in words)


def _flags(place: Place) -> tuple[str, ...]:
    return tuple(flag for option in place.options for flag in option.flags)


def _valued(places: Places) -> list[tuple[str, Option]]:
    """Return each option that takes a value, with the name of the command that it belongs to."""
    return [(place.name, option) for place in places for option in place.options if option.kind != "none"]


def _patterns(name: str, option: Option) -> str:
    return "|".join(shlex.quote(f"{name} {flag}") for flag in option.flags)


def _find(places: Places, *, set_to: str) -> list[str]:
    """Return the arms of a `case`, of bash and zsh, that tell how a word leads on from a command."""
    skipped = sorted({_patterns(name, option) for name, option in _valued(places)})
    lines = [f"            {'|'.join(skipped)}) skip=1 ;;"]
    for place in places:
        for inner, _ in place.commands:
            came = shlex.quote(f"{place.name} {inner}")
            lines.append(f"            {came}) {set_to}={shlex.quote(' '.join((*place.words, inner)))} ;;")
    return lines


# -- bash ------------------------------------------------------------------------------------------


def _bash_value(option: Option) -> str:
    match option.kind:
        case "choice":
            return f"_fsnotes_words {_quoted(option.choices)}"
        case "file":
            return "_fsnotes_paths -f"
        case "folder":
            return "_fsnotes_paths -d"
        case "workspace":
            return "_fsnotes_workspaces"
        case _:
            return ":"


def bash(places: Places) -> str:
    """Return the script for bash, 4.0 or later."""
    values = [
        f"        {_patterns(name, option)}) {_bash_value(option)}; return ;;"
        for name, option in _valued(places)
    ]
    flags = [
        f"            {shlex.quote(place.name)}) _fsnotes_words {_quoted(_flags(place))} ;;"
        for place in places
    ]
    rest = []
    for place in places:
        words = (*(name for name, _ in place.commands), *place.choices)
        does = [f"_fsnotes_words {_quoted(words)}"] if words else []
        does += ["_fsnotes_paths -d"] if place.folders else []
        if does:
            rest.append(f"        {shlex.quote(place.name)}) {'; '.join(does)} ;;")
    return "\n".join(
        [
            '# fsnotes completion for bash: eval "$(fsnotes completion bash)"',
            "_fsnotes_words() {",
            "    local word",
            '    for word in "$@"; do',
            '        [[ $word == "$cur"* ]] && COMPREPLY+=("$word")',
            "    done",
            "}",
            "_fsnotes_paths() {",
            "    local path",
            "    compopt -o filenames 2>/dev/null",
            "    while IFS= read -r path; do",
            '        COMPREPLY+=("$path")',
            '    done < <(compgen "$1" -- "$cur")',
            "}",
            "_fsnotes_workspaces() {",
            "    local name",
            "    while IFS= read -r name; do",
            '        [[ $name == "$cur"* ]] && COMPREPLY+=("$name")',
            "    done < <(fsnotes completion --workspaces 2>/dev/null)",
            "    _fsnotes_paths -d",  # and with it, names with a space are quoted
            "}",
            "_fsnotes() {",
            "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at='' skip=0 i",
            "    COMPREPLY=()",
            "    for ((i = 1; i < COMP_CWORD; i++)); do",
            "        if ((skip)); then skip=0; continue; fi",
            '        case "$at ${COMP_WORDS[i]}" in',
            *_find(places, set_to="at"),
            "        esac",
            "    done",
            '    [[ $cur == "=" ]] && cur=""',
            '    [[ $prev == "=" ]] && prev=${COMP_WORDS[COMP_CWORD-2]}',
            '    case "$at $prev" in',
            *values,
            "    esac",
            "    if [[ $cur == -* ]]; then",
            '        case "$at" in',
            *flags,
            "        esac",
            "        return",
            "    fi",
            '    case "$at" in',
            *rest,
            "    esac",
            "}",
            "complete -F _fsnotes fsnotes",
        ]
    )


# -- zsh -------------------------------------------------------------------------------------------


def _zsh_value(option: Option) -> str:
    match option.kind:
        case "choice":
            return f"compadd -- {_quoted(option.choices)}"
        case "file":
            return "_files"
        case "folder":
            return "_files -/"
        case "workspace":
            return "_fsnotes_workspaces"
        case _:
            return ":"


def _zsh_described(pairs: list[tuple[str, str]]) -> str:
    return " ".join(shlex.quote(f"{word.replace(':', chr(92) + ':')}:{said}") for word, said in pairs)


def zsh(places: Places) -> str:
    """Return the script for zsh, to be evaluated behind `compinit` or to lie in `fpath` as `_fsnotes`."""
    values = [
        f"        {_patterns(name, option)}) {_zsh_value(option)}; return ;;"
        for name, option in _valued(places)
    ]
    flags, rest = [], []
    for place in places:
        pairs = [(flag, option.help.replace("%%", "%")) for option in place.options for flag in option.flags]
        flags.append(f"            {shlex.quote(place.name)}) found=({_zsh_described(pairs)}) ;;")
        does = []
        if place.commands:
            does.append(f"found=({_zsh_described(list(place.commands))}); _describe command found")
        if place.choices:
            does.append(f"compadd -- {_quoted(place.choices)}")
        if place.folders:
            does.append("_files -/")
        if does:
            rest.append(f"        {shlex.quote(place.name)}) {'; '.join(does)} ;;")
    return "\n".join(
        [
            "#compdef fsnotes",
            '# fsnotes completion for zsh: eval "$(fsnotes completion zsh)" behind compinit',
            "_fsnotes_workspaces() {",
            "    local -a names",
            '    names=("${(@f)$(fsnotes completion --workspaces 2>/dev/null)}")',
            '    compadd -- "${(@)names:#}"',
            "    _files -/",
            "}",
            "_fsnotes() {",
            "    local at='' prev=${words[CURRENT-1]} skip=0 i",
            "    local -a found",
            "    for ((i = 2; i < CURRENT; i++)); do",
            "        if ((skip)); then skip=0; continue; fi",
            '        case "$at ${words[i]}" in',
            *_find(places, set_to="at"),
            "        esac",
            "    done",
            '    case "$at $prev" in',
            *values,
            "    esac",
            "    if [[ ${words[CURRENT]} == -* ]]; then",
            '        case "$at" in',
            *flags,
            "        esac",
            "        _describe option found",
            "        return",
            "    fi",
            '    case "$at" in',
            *rest,
            "    esac",
            "}",
            'if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _fsnotes "$@"; else compdef _fsnotes fsnotes; fi',
        ]
    )


# -- fish ------------------------------------------------------------------------------------------


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_value(option: Option) -> str:
    match option.kind:
        case "none":
            return ""
        case "choice":
            return f" -x -a {_fish_quoted(' '.join(option.choices))}"
        case "file":
            return " -r -F"
        case "folder":
            return " -x -a '(__fish_complete_directories)'"
        case "workspace":
            return " -x -a '(__fsnotes_workspaces)'"
        case _:
            return " -x"


def _fish_names(flags: tuple[str, ...]) -> str:
    return " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in flags)


def fish(places: Places) -> str:
    """Return the script for fish."""
    skipped = " ".join(
        _fish_quoted(f"{name} {flag}") for name, option in _valued(places) for flag in option.flags
    )
    steps = []
    lines = []
    for place in places:
        at = f"complete -c fsnotes -n {_fish_quoted(f'__fsnotes_at {_fish_quoted(place.name)}')}"
        for inner, said in place.commands:
            came, now = f"{place.name} {inner}", " ".join((*place.words, inner))
            steps.append(f"            case {_fish_quoted(came)}\n                set at {_fish_quoted(now)}")
            lines.append(f"{at} -a {inner} -d {_fish_quoted(said)}")
        if place.choices:
            lines.append(f"{at} -a {_fish_quoted(' '.join(place.choices))}")
        if place.folders:
            lines.append(f"{at} -a '(__fish_complete_directories)'")
        for option in place.options:
            said = _fish_quoted(option.help.replace("%%", "%"))
            lines.append(f"{at} {_fish_names(option.flags)}{_fish_value(option)} -d {said}")
    return "\n".join(
        [
            "# fsnotes completion for fish: fsnotes completion fish | source",
            "function __fsnotes_at",
            "    set -l at ''",
            "    set -l skip 0",
            "    set -l words (commandline -opc)",
            "    for word in $words[2..-1]",
            "        if test $skip = 1",
            "            set skip 0",
            "            continue",
            "        end",
            f'        if contains -- "$at $word" {skipped}',
            "            set skip 1",
            "            continue",
            "        end",
            '        switch "$at $word"',
            *steps,
            "        end",
            "    end",
            '    test "$at" = "$argv[1]"',
            "end",
            "function __fsnotes_workspaces",
            "    fsnotes completion --workspaces 2>/dev/null",
            "    __fish_complete_directories",
            "end",
            "complete -c fsnotes -f",
            *lines,
        ]
    )


SHELLS: Final[dict[str, Callable[[Places], str]]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""The scripts by the shell's name."""
