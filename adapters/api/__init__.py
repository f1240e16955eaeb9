"""The control API: HTTP with JSON on the bridge's unix socket, described at /openapi.json."""
