"""Says again what a real agent has said, once the bridge says what it said then: `replaying RECORDING RECEIVED`."""

import json
import sys
from typing import Any


def _next(wanted: dict[str, Any], waiting: list[dict[str, Any]], received: Any) -> dict[str, Any] | None:
    """The frame of the bridge that stands in the recording. What overtakes it is kept."""
    while True:
        for one in waiting:
            if one.get("method") == wanted.get("method"):
                waiting.remove(one)
                return one
        line = sys.stdin.readline()
        if not line:
            return None
        received.write(line)
        received.flush()
        waiting.append(json.loads(line))


def main() -> None:
    recording, received_at = sys.argv[1:]
    ids: dict[Any, Any] = {}
    waiting: list[dict[str, Any]] = []
    with open(recording, encoding="utf-8") as lines, open(received_at, "a", encoding="utf-8") as received:
        for line in lines:
            said = json.loads(line)
            frame = said["frame"]
            if said["by"] == "bridge":
                came = _next(frame, waiting, received)
                if came is None:
                    return
                if "method" in frame and "id" in frame:
                    ids[frame["id"]] = came["id"]
            else:
                if "method" not in frame:
                    frame["id"] = ids[frame["id"]]
                print(json.dumps(frame), flush=True)
        for line in sys.stdin:
            received.write(line)


if __name__ == "__main__":
    main()
