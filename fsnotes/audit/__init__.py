"""The audit log: who changed what, and who was refused; written before anything is changed, and read in order."""

from fsnotes.audit.entries import Entry, Wanted
from fsnotes.audit.events import Event, stamp
from fsnotes.audit.following import Follower
from fsnotes.audit.log import AuditLog
from fsnotes.audit.reading import History
from fsnotes.audit.reservations import Reservation
from fsnotes.audit.rotation import Rotation, RotationStep

__all__ = [
    "AuditLog",
    "Entry",
    "Event",
    "Follower",
    "History",
    "Reservation",
    "Rotation",
    "RotationStep",
    "Wanted",
    "stamp",
]
