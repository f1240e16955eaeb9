"""Rules that say which script answers which event."""

import json
import re


class Rule:
    """`match` is a part of the text in any case; `regex` may name groups, which become values."""

    __slots__ = ("intent", "match", "on", "regex", "script", "sender")

    def __init__(self, data: dict[str, object]) -> None:
        script = data["script"]
        self.on = str(data["on"])
        self.script = "\n".join(map(str, script)) if isinstance(script, list) else str(script)
        self.match = str(data.get("match", "")).lower()
        self.regex = re.compile(str(data["regex"]), re.IGNORECASE | re.DOTALL) if "regex" in data else None
        self.sender = data.get("from")
        self.intent = data.get("intent")

    def fits(self, on: str, text: str, message: dict[str, object]) -> dict[str, object] | None:
        """The values of its groups where it fits, else None."""
        if self.on != on or self.match not in text.lower():
            return None
        if self.sender not in (None, message.get("from")) or self.intent not in (None, message.get("intent")):
            return None
        if not self.regex:
            return {}
        found = self.regex.search(text)
        return dict(found.groupdict()) if found else None


class Persona:
    def __init__(self, path: str | None) -> None:
        self._rules: list[Rule] = []
        if path:
            with open(path, encoding="utf-8") as file:
                self._rules = [Rule(rule) for rule in json.load(file)["rules"]]

    def script(
        self, on: str, text: str = "", message: dict[str, object] | None = None
    ) -> tuple[str, dict[str, object]] | None:
        """The script of the first rule that fits, and the values that its expression named."""
        for rule in self._rules:
            named = rule.fits(on, text, message or {})
            if named is not None:
                return rule.script, named
        return None
