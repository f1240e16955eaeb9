"""The way of a message: inbound, admission, dispatch, turn, settlement, reply, outbox."""
