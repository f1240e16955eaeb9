"""Whether a person has started this process."""

import os

from adapters.acp.descent import of_an_agent


def by_person() -> bool:
    """As far as anybody can tell. Else whoever writes the file could accept it, too."""
    return on_terminal() and not of_an_agent()


def on_terminal() -> bool:
    """Whether the process has a controlling terminal. It loses it when that hangs up."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
