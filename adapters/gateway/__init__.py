"""The server's side of the link by which gateways take work for their own sessions (deploy/gateway-link.md)."""
