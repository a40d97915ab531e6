"""`doctor`: what is enforced here, proven by trying to break it; and the way out of a quarantine."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from fsnotes.audit import AuditLog, Rotation
from fsnotes.calls import local_principal
from fsnotes.cli.console import Console, one_line, shown
from fsnotes.cli.logs import start_logging
from fsnotes.cli.settings import settings_for
from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.errors import ConfigurationError, JailRequired
from fsnotes.failures import describe
from fsnotes.quarantine import Mark, Marks, lift
from fsnotes.state import StateFolder

if TYPE_CHECKING:
    from fsnotes.findings import Diagnosis, Examined, Host, Opened

_WIDTH: Final = 14
_UNWRITTEN: Final = (
    "A server whose log says that it cannot write it down keeps it closed for itself: make room and clear it again, or"
    " start that server anew"
)


def doctor(options: argparse.Namespace, console: Console) -> int:
    """Examine the host and every workspace, or lift a quarantine. 0 when all that was asked for is in force, else 8."""
    settings = settings_for(options)
    start_logging(settings.log_level, settings.log_format)
    if options.clear is not None:
        return _clear(options, settings, console)
    from fsnotes.diagnosis import examine

    with _interruptible() as checkpoint:
        diagnosis = examine(settings, checkpoint=checkpoint)
    if options.json:
        console.show_json(diagnosis.to_json())
    else:
        _show(diagnosis, console)
    return _judge(diagnosis, console)


def _judge(diagnosis: Diagnosis, console: Console) -> int:
    """Say what is not in force, and return the exit code."""
    code = 0
    faults = [*diagnosis.host_faults]
    for each in diagnosis.workspaces:
        faults += [f"workspace {each.workspace.name!r}: {fault}" for fault in each.faults]
    for fault in faults:
        failure = describe(JailRequired(fault))
        code = failure.exit_code
        console.complain(failure.line)
    for each in diagnosis.workspaces:
        if each.problem is not None:
            failure = describe(ConfigurationError(each.problem))
            code = failure.exit_code
            console.complain(failure.line)
    return code


@contextmanager
def _interruptible() -> Iterator[Callable[[], None]]:
    """Give what raises KeyboardInterrupt once a signal has come, so that all that was made is removed in order.

    A second signal does not wait.
    """
    came = False

    def note(signum: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True

    def checkpoint() -> None:
        if came:
            raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is not signal.SIG_IGN:  # as SIGHUP is under nohup
            signal.signal(number, note)
    try:
        yield checkpoint
        checkpoint()
    finally:
        for number in numbers:
            signal.signal(number, before[number] or signal.SIG_DFL)


# -- the way out of a quarantine -----------------------------------------------------------------------


def _clear(options: argparse.Namespace, settings: Settings, console: Console) -> int:
    state = StateFolder.open(settings.state_dir)
    name = options.clear
    path = _path_of(name, settings, Marks(state), named=bool(options.folders))
    mark = None
    if path is not None:
        rotation = Rotation(settings.audit_max_bytes, settings.audit_keep)
        audit = AuditLog(state.audit, rotation=rotation)
        mark = lift(state, path, workspace=name, principal=local_principal().name, audit=audit)
    if options.json:
        console.show_json({"workspace": name, "path": path, "lifted": mark is not None, "was": _told(mark)})
    elif path is None:
        console.say(f"nothing to clear: no workspace called {shown(name)} is closed")
    elif mark is None:
        console.say(f"nothing to clear: workspace {shown(name)} is not closed. {_UNWRITTEN}")
    else:
        console.say(one_line(f"workspace {name} is open again; it was closed {mark}"))
    return 0


def _path_of(name: str, settings: Settings, marks: Marks, *, named: bool) -> str | None:
    """Return the folder of the workspace *name*: a configured one, else one that was called so when it was closed.

    None when none is called so; where folders were *named*, one of them is meant.
    """
    for workspace in settings.workspaces:
        if workspace.name == name:
            return workspace.path
    paths = [mark.path for mark in marks.named(name) if mark.path is not None]
    if len(paths) == 1:
        return paths[0]
    if paths:
        raise ConfigurationError(
            f"--clear {shown(name)}: several folders are called so; name the one that is meant too"
        )
    if named:
        raise ConfigurationError(
            f"--clear {shown(name)}: neither a folder that is named nor one that is closed"
        )
    if marks.has_damaged():
        raise ConfigurationError(
            f"--clear {shown(name)}: a mark cannot be read, which may be its own; name the folder that is meant too"
        )
    return None


def _told(mark: Mark | None) -> dict[str, Any] | None:
    return None if mark is None else {"since": mark.moment, "why": mark.why}


# -- the report for people -----------------------------------------------------------------------------


def _show(diagnosis: Diagnosis, console: Console) -> None:
    def line(label: str, text: str = "", *, indent: int = 2) -> None:
        console.say(one_line(f"{' ' * indent}{label:<{_WIDTH}}{text}".rstrip()))

    _show_host(diagnosis.host, line)
    if not diagnosis.workspaces:
        if diagnosis.host_faults:
            _show_list("NOT IN FORCE", diagnosis.host_faults, line)
        console.say()
        console.say("no workspace: name a folder, or configure one, to have it examined too")
    for each in diagnosis.workspaces:
        console.say()
        console.say(f"{one_line(each.workspace.name)}  {shown(each.workspace.path)}")
        if each.problem is None:
            _show_workspace(each, line)
        else:
            line("NOT SERVED", each.problem)


_Line = Callable[..., None]


def _show_host(host: Host, line: _Line) -> None:
    seen = host.kernel
    line(f"{seen.system} {seen.release} {seen.machine}", indent=0)
    line("openat2", seen.openat2 or "works: a path is kept beneath its folder by the kernel")
    line("landlock", "none" if seen.landlock is None else f"version {seen.landlock}")
    if host.report is None:
        line("jail", f"none: {host.why}")
        return
    line("jail", f"{host.report.level.value} is what this host gives")
    for layer in host.report.layers:
        line(layer.name, layer.state.value + (f": {layer.why}" if layer.why else ""), indent=4)


def _show_workspace(each: Examined, line: _Line) -> None:
    asked = "nothing is required" if each.required is None else f"{each.required.value} is required"
    line("level", f"{each.level.value}; {asked} (--jail {each.mode})")
    if each.quarantine is not None:
        line("CLOSED", str(each.quarantine))
    report = each.jailed.report
    if report is None:
        line("jail", f"none: {each.jailed.why}")
    else:
        for layer in report.layers:
            said = [layer.why or "", *layer.proof]
            line(layer.name, f"{layer.state.value:<12}{'; '.join(filter(None, said))}", indent=4)
        if each.leaves is not None:
            _show_list("leaves", each.leaves, line)
        around = "the tree around it is the host's"
        if report.root_entries is not None:
            around = f"at / there is only {', '.join(report.root_entries)}"
        line("working root", f"{report.cwd} is the worker's current folder; {around}")
    if each.jailed.part is not None:
        line("state part", shown(each.jailed.part))
    elif each.jailed.part_why is not None:
        line("state part", f"none: {each.jailed.part_why}")
    if each.opened is not None:
        _show_folder(each.opened, line)
    policy = each.workspace.policy
    kept = f"symlinks {policy.links.value}, hardlinks {policy.hard_links.value}, mounts {policy.mounts.value}"
    line("policies", f"{kept}, notes up to {policy.max_file_bytes} bytes{_bounds(each.workspace)}")
    _show_attacks(each, line)
    _show_list("weaknesses", each.weaknesses, line)
    if each.faults:
        _show_list("NOT IN FORCE", each.faults, line)
    elif each.level.value == "none":
        line("verdict", "there is no jail, and none is required")
    else:
        line("verdict", "what was asked for is in force")


def _bounds(workspace: WorkspaceSettings) -> str:
    """Return the bounds of *workspace* that are set, to be said after something else."""
    quota = workspace.quota
    said = (
        ("at most {} bytes in all", quota.max_bytes),
        ("at most {} entries", quota.max_entries),
        ("{} bytes stay free", quota.min_free_bytes),
    )
    return "".join(f", {text.format(bound)}" for text, bound in said if bound is not None)


def _show_folder(opened: Opened, line: _Line) -> None:
    line("paths", opened.resolver)
    features, seen = opened.features, opened.file_system
    said = ["unknown file system" if seen is None else seen.kind]
    if seen is not None and seen.read_only:
        said.append("mounted read-only")
    said.append(
        "locked by its folder" if features.lock == "directory" else "locked by a file of the state folder"
    )
    if features.rename_flags is None:
        said.append("renaming and names not tried")
    else:
        said.append("renames and exchanges in one step" if features.rename_flags else "no rename flags")
        said.append("case is ignored" if features.folds_case else "case counts")
        said.append("Unicode forms are the same" if features.normalises else "Unicode forms differ")
    said.append("still the folder that was opened" if opened.is_same else "NOT THE FOLDER that was opened")
    line("folder", ", ".join(said))


def _show_attacks(each: Examined, line: _Line) -> None:
    trial = each.jailed.trial
    if trial is None:
        line("attacks", f"none made: {each.jailed.why}")
        return
    broken = {one.attack.name for one in trial.broken}
    counts: dict[str, int] = {}
    for one in trial.tried:
        counts[one.outcome.value] = counts.get(one.outcome.value, 0) + 1
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    line(
        "attacks",
        f"{len(trial.tried)} by a worker that may {'look' if trial.report.kind == 'ro' else 'change'}: {told}",
    )
    for one in trial.tried:
        loud = one.attack.name in broken
        word = one.outcome.value.upper() if loud else one.outcome.value
        how = one.how
        if one.outcome.value == "possible":
            how += ", and the level forbids it" if loud else ", which the level leaves"
        line(word, f"{one.attack.what} ({how})", indent=4)


def _show_list(label: str, sentences: Iterable[str], line: _Line) -> None:
    for number, sentence in enumerate(tuple(sentences) or ("nothing",)):
        line("" if number else label, sentence)
