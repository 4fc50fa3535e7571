"""Who holds a session while it is compacted: a process on some machine, alive or not."""

import os
import socket
import uuid

_OURS = uuid.uuid4().hex[:8]
"""This process among all that had its number: a container's server is number 1 every time."""


def current() -> str:
    """Name this process."""
    return f"{socket.gethostname()}:{os.getpid()}:{_OURS}"


def is_dead(owner: str) -> bool:
    """Tell whether a process is known to be gone, so that a crash costs nobody a wait."""
    host, _, process = owner.partition(":")
    number, _, which = process.partition(":")
    if host != socket.gethostname() or os.name != "posix":  # elsewhere signal 0 is no question
        return False
    if number == str(os.getpid()):
        return which != _OURS
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, ValueError, OverflowError):
        return False
    return False
