"""Every number that bounds Tieline (DESIGN §3), with its default."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Times are in seconds."""

    max_chars: int = 8_000
    inbox: int = 50
    open_requests: int = 50
    depth: int = 6
    visits: int = 2
    conversation_messages: int = 24
    pair_messages: int = 20
    pair_window_s: float = 60
    pair_rest_s: float = 60
    profile_messages_day: int = 10_000
    message_life_s: float = 7 * 86_400
    held_life_s: float = 30 * 60
    retention_s: float = 30 * 86_400
    lease_s: float = 60
    idle_close_s: float = 900
    stop_grace_s: float = 10
    worker_grace_s: float = 10
    gateway_return_s: float = 900
    attempts: int = 5
    children: int = 4
    spawn_depth: int = 2
    cause_memory_s: float = 600
    start_timeout_s: float = 60
    question_timeout_s: float = 300
    progress_every_s: float = 3
