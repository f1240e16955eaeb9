"""A stand-in for an agent without ACP: `cli.py [--json] [--resume ID] [--prompt TEXT] [--mcp FILE]`.

Words of the prompt say what it does: `exit N`, `limit`, `hang`, `orphan`, `crash`, `quiet`; else it says how often its
context was used and what it was told. Contexts are files in CLI_STATE.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    given = dict(zip(sys.argv[1::1], sys.argv[2::1], strict=False))
    as_json, resumed = "--json" in sys.argv, given.get("--resume")
    prompt = given.get("--prompt") or sys.stdin.read()
    state = Path(os.environ["CLI_STATE"])
    ident = resumed or f"ctx-{len(list(state.iterdir())) + 1}"
    context = state / ident
    if resumed and not context.exists():
        print(f"no such context: {ident}", file=sys.stderr)
        sys.exit(3)
    words = prompt.split()
    if "hang" in words:
        (state.parent / "pid").write_text(str(os.getpid()))
        signal.signal(signal.SIGTERM, signal.SIG_IGN if "deaf" in words else signal.SIG_DFL)
        time.sleep(60)
    if "orphan" in words:
        left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        (state.parent / "pid").write_text(str(left.pid))
    if "exit" in words:
        print("it went wrong", file=sys.stderr)
        sys.exit(int(words[words.index("exit") + 1]))
    if "limit" in words:
        print("HTTP 429: rate limit, try again in 20 s", file=sys.stderr)
        sys.exit(1)
    if "crash" in words:
        os.kill(os.getpid(), signal.SIGKILL)
    told = [*(context.read_text().splitlines() if context.exists() else []), prompt.replace("\n", " | ")]
    context.write_text("\n".join(told))
    if "--mcp" in given:
        servers = json.loads(Path(given["--mcp"]).read_text())["mcpServers"]
        told.append(f"{oct(os.stat(given['--mcp']).st_mode)[-3:]} {sorted(servers)} {servers['tieline']['env']}")
    text = f"{len(told)}: {told[-1]}"
    if not as_json:
        print(f"\x1b[1m{text}\x1b[0m\ncontext: {ident}")
        return
    print("not JSON")
    print(json.dumps({"type": "started", "thread": {"id": ident}}))
    if "quiet" not in words:
        print(json.dumps({"item": {"type": "reasoning", "text": "hm"}}))
        print(json.dumps({"item": {"type": "message", "text": "I look"}}))
        print(json.dumps({"item": {"type": "message", "text": text}}))


main()
