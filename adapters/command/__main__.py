"""Starts the agent for a command; its only argument is the template, as JSON."""

import os
import sys

from adapters.command.agent import CommandAgent, found
from adapters.command.template import Template

_NOT_FOUND = 127


def main() -> None:
    template = Template.from_json(sys.argv[1])
    if not found(template.command[0]):
        print(f"The command {template.command[0]!r} was not found.", file=sys.stderr)
        sys.exit(_NOT_FOUND)
    CommandAgent(template, sys.stdout.buffer).serve(sys.stdin.buffer)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
