"""Stands between a bridge and an agent, and writes down what they say to each other: `recorder FOLDER COMMAND…`.

A file a process, with a line a frame: `{"by": "bridge"|"agent", "frame": {…}}`.
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

_LOCK = threading.Lock()


def _copied(by: str, source: IO[bytes], sink: IO[bytes], record: IO[str]) -> None:
    for line in source:
        # What a side says is on record before the other side can answer it.
        with _LOCK:
            try:
                frame = json.loads(line)
            except ValueError:
                frame = {"text": line.decode("utf-8", "replace")}
            record.write(json.dumps({"by": by, "frame": frame}) + "\n")
            record.flush()
        try:
            sink.write(line)
            sink.flush()
        except OSError:
            break
    sink.close()


def main() -> int:
    folder, *command = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    number = len(os.listdir(folder)) + 1
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin
    assert child.stdout
    with (Path(folder) / f"{number}.jsonl").open("w") as record:
        ears = threading.Thread(target=_copied, args=("bridge", sys.stdin.buffer, child.stdin, record), daemon=True)
        ears.start()
        _copied("agent", child.stdout, sys.stdout.buffer, record)
        return child.wait()


if __name__ == "__main__":
    code = main()
    os._exit(code if code >= 0 else 128 - code)
