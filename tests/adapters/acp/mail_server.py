"""A tiny MCP server over stdio: gives the mail of `MAIL`, and repeats what `peer_send` was given."""

import json
import os
import sys

NAMES = ("peer_receive", "peer_send", "environment")


def called(name: str, arguments: object) -> object:
    if name == "peer_receive":
        return {"messages": json.loads(os.environ.get("MAIL", "[]")), "remaining": 0}
    if name == "environment":
        return {"names": sorted(os.environ), "token": os.environ.get("TIELINE_TOKEN")}
    return {"message_id": "m-2", "sent": arguments}


for line in sys.stdin:
    frame = json.loads(line)
    if "id" not in frame:
        continue
    method, params = frame["method"], frame.get("params", {})
    if method == "initialize":
        result: object = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
    elif method == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]}
    elif params["arguments"] == {"refuse": True}:
        result = {"isError": True, "content": [{"type": "text", "text": '{"error": {"code": "busy"}}'}]}
    else:
        result = {"structuredContent": called(params["name"], params["arguments"]), "content": []}
    print(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": result}), flush=True)
