"""The forms of addresses in the settings: places, and where the web console listens."""

import re
from ipaddress import ip_address
from typing import NamedTuple

from adapters.settings.problems import choice
from bridge.errors import Refused
from bridge.ids import place, scheme_of

_FORMS: dict[str, tuple[re.Pattern[str], str]] = {
    "telegram": (
        re.compile(r"(-?[1-9]\d{0,19})(?:/(?:[1-9]\d{0,19}|general))?\Z"),
        "telegram:-1001234/42, telegram:-1001234/general or telegram:777",
    ),
    "web": (re.compile(r"\S+\Z"), "web:front-desk"),
    "cli": (re.compile(r"\S+\Z"), "cli:build"),
    "terminal": (re.compile(r"\S+\Z"), "terminal:desk"),
}


class Address(NamedTuple):
    host: str
    port: int


def place_problem(text: str, *, of_gateway: bool = False) -> tuple[str, str] | None:
    """What is wrong with a place and what to write instead, or None. A gateway's has its name for a scheme."""
    try:
        scheme = scheme_of(place(text))
    except Refused:
        return f"has {text!r}, which is no place", "write it like telegram:-1001234/42 or web:front-desk"
    if of_gateway and scheme not in _FORMS:
        return None
    if scheme not in _FORMS:
        return f"has {text!r}, but there is no chat {scheme!r}", choice(scheme, _FORMS)
    form, example = _FORMS[scheme]
    if not form.match(text.removeprefix(f"{scheme}:")):
        return f"has {text!r}, which is no place of {scheme}", f"write it like {example}"
    return None


def telegram_chat(text: str) -> int | None:
    """The number of the chat that a well-formed place is in, if it is in Telegram."""
    scheme, _, address = text.partition(":")
    found = _FORMS["telegram"][0].match(address) if scheme == "telegram" else None
    return int(found[1]) if found else None


def listening(text: str) -> Address | None:
    """The host and port, where the host is this machine alone."""
    address = bindable(text)
    if address is None:
        return None
    return address if address.host == "localhost" or ip_address(address.host).is_loopback else None


def bindable(text: str) -> Address | None:
    """The host and port, where the host is an address, such as 0.0.0.0 for all of this machine's."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        number = int(port)
        if host != "localhost":
            ip_address(host)
    except ValueError:
        return None
    return Address(host, number) if 0 <= number <= 65535 else None
