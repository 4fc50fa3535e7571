"""Who holds a session while it is compacted: a process on some machine, alive or not."""

import os
import socket
import uuid


def current() -> str:
    """Name this process, for one claim."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def is_dead(owner: str) -> bool:
    """Tell whether a process is known to be gone, so that a crash costs nobody a wait."""
    host, _, process = owner.partition(":")
    if host != socket.gethostname() or os.name != "posix":  # elsewhere signal 0 is no question
        return False
    try:
        os.kill(int(process.partition(":")[0]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, ValueError, OverflowError):
        return False
    return False
