"""What a person's terminal runs: each line that is typed is a command of `tieline`, with its arguments as JSON.

The exit code of each, its output and its errors come as a line of JSON on stdout. The commands run in this process, so
that one is on its way to the bridge as soon as it is typed.
"""

import contextlib
import io
import json
import sys

from adapters.main import main

if __name__ == "__main__":
    for line in sys.stdin:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(json.loads(line))
        print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
