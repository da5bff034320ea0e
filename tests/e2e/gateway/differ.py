"""Compares a conversation through the gateway with the same conversation without it.

    differ.py WITHOUT WITH [--at client|vendor] [--fates FATES]

Both are recordings of `tap.py`. The messages of each sender must be the same in payload, opcode and
order, but for what a policy held, added or hid. FATES is a JSON object with the fate of each call
id (`held`, `denied`, `hosted` or `cancelled`); any other call is observed, and nothing of it may
differ. It prints the first difference of each direction, and ends with 1 if there is one.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys

import recording
from exact import members, parts
from recording import CLIENT, VENDOR, Message

HELD, DENIED, HOSTED, CANCELLED = "held", "denied", "hosted", "cancelled"
"""Fates of calls. A held call was released, and reached the client later and alone."""

# The length of a payload in a report.
SHOWN = 160

# Headers of a handshake that reach the vendor unchanged.
_HEADERS = ("authorization", "x-goog-api-key", "x-goog-api-client")


@dataclasses.dataclass(frozen=True)
class Allowed:
    """The differences that the policies of a conversation explain."""

    fates: dict[str, str] = dataclasses.field(default_factory=dict)
    """The fate of each call that is not observed, by the id that the vendor gave it."""
    declared: frozenset[str] = frozenset()
    """The names of the hosted tools, which are added to the client's setup."""

    def named(self, *fates: str) -> set[str]:
        """Returns the ids of the calls with these fates."""
        return {call for call, fate in self.fates.items() if fate in fates}


@dataclasses.dataclass(frozen=True)
class Expected:
    """One message that must come."""

    message: Message
    """The message as it was without the gateway."""
    items: dict[str, str] | None = None
    """The calls, responses or cancelled ids that remain of it, if some were taken out. None at all
    stands for what is beside them."""
    after: int = 0
    """The number of messages before it that must have come, if it has no place of its own."""

    def fits(self, found: Message, allowed: Allowed) -> bool:
        """True if the message is the expected one."""
        if found.opcode != self.message.opcode:
            return False
        if found.opcode == "handshake":
            return _handshake(found) == _handshake(self.message)
        if self.items is None:
            return found.payload == self.message.payload or (
                bool(allowed.declared) and _only_declared(self.message, found, allowed.declared)
            )
        divided, whole = parts(found.text()), parts(self.message.text())
        if whole is None or divided is None:
            beside = {} if whole is None else whole.beside
            return not self.items and members(found.text()) == beside
        same = list(divided.items.items()) == list(self.items.items())
        return same and divided.kind == whole.kind and not divided.beside


def _handshake(message: Message) -> tuple[str, dict[str, str]]:
    """Returns the status or the path of a handshake, and the headers that count."""
    first, *lines = message.text().split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name.lower() in _HEADERS:
            headers[name.lower()] = value.strip()
    while "//" in first:
        first = first.replace("//", "/")
    return first.removesuffix(" Switching Protocols"), headers


def _only_declared(before: Message, after: Message, declared: frozenset[str]) -> bool:
    """True if one insertion makes the setup, and it declares exactly these tools."""
    old, new = before.text(), after.text()
    if '"setup"' not in old or len(new) <= len(old):
        return False
    start = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
    rest = len(old) - start
    if rest and new[-rest:] != old[start:]:
        return False
    return _declarations(new) - _declarations(old) == declared


def _declarations(setup: str) -> set[str]:
    found = set()
    for tool in json.loads(setup)["setup"].get("tools") or []:
        for name in ("functionDeclarations", "function_declarations"):
            found |= {it["name"] for it in tool.get(name) or []}
    return found


def _expect(
    without: list[Message], allowed: Allowed, *, split: bool
) -> tuple[list[Expected], list[Expected]]:
    """Returns what must come in this order, and what must come at a later time of its own."""
    ordered: list[Expected] = []
    later: list[Expected] = []
    alone = allowed.named(HELD) if split else set()
    hidden = allowed.named(DENIED, HOSTED, CANCELLED) if split else set()
    for message in without:
        found = parts(message.text())
        if found is None or not found.items.keys() & (alone | hidden):
            if split and found is not None and found.kind == "calls":
                # An observed call passes once it is recorded; what needs no record overtakes it.
                later.append(Expected(message, after=len(ordered)))
            else:
                ordered.append(Expected(message))
            continue
        if found.beside:
            # What stands beside the calls is a message of its own, before or after them.
            later.append(Expected(message, {}, after=len(ordered)))
        place = len(ordered)
        remaining = {key: text for key, text in found.items.items() if key not in alone | hidden}
        if found.kind == "ids":
            remaining |= {key: text for key, text in found.items.items() if key in alone}
        if remaining and found.kind != "calls":
            ordered.append(Expected(message, remaining))
            remaining = {}
        # Observed calls stay together: LiveKit runs the last of two messages in a row alone.
        later += [Expected(message, remaining, after=place)] if remaining else []
        if found.kind != "ids":
            held = [{key: text} for key, text in found.items.items() if key in alone]
            later += [Expected(message, it, after=len(ordered)) for it in held]
    return ordered, later


def difference(
    without: list[Message], through: list[Message], allowed: Allowed, *, split: bool, added: bool
) -> str | None:
    """Returns the first difference between the messages of one sender, or None.

    With `split`, calls are divided by their fates. With `added`, the gateway sends messages of its
    own: responses to the calls that never reached the client.
    """
    ordered, later = _expect(without, allowed, split=split)
    owed = allowed.named(DENIED, HOSTED) if added else set()
    # Only the calls of this conversation are owed a response.
    owed &= {key for it in without if (p := parts(it.text())) for key in p.items}
    at = 0
    for number, message in enumerate(through, 1):
        if at < len(ordered) and ordered[at].fits(message, allowed):
            at += 1
            continue
        match = next((it for it in later if it.after <= at and it.fits(message, allowed)), None)
        if match is not None:
            later.remove(match)
            continue
        answers = parts(message.text()) if owed else None
        if answers is not None and answers.kind == "responses" and answers.items.keys() <= owed:
            owed -= answers.items.keys()
            continue
        wanted = ordered[at] if at < len(ordered) else None
        return _report(number, wanted, message)
    missing = ordered[at:] or later
    if missing:
        return _report(len(through) + 1, missing[0], None)
    return f"no response was sent to the calls {sorted(owed)}" if owed else None


def _report(number: int, wanted: Expected | None, found: Message | None) -> str:
    expected = "no further message" if wanted is None else _shown(wanted.message)
    if wanted is not None and wanted.items is not None:
        expected += f", of which {sorted(wanted.items)}"
    received = "the end" if found is None else _shown(found)
    place = ""
    if wanted is not None and found is not None and wanted.items is None:
        pairs = zip(wanted.message.payload, found.payload, strict=False)
        at = next((n for n, (a, b) in enumerate(pairs) if a != b), None)
        place = "" if at is None else f" (they differ from byte {at} on)"
    return f"message {number}: expected {expected}, found {received}{place}"


def _shown(message: Message) -> str:
    text = message.text() or message.payload.hex()
    more = f"… ({len(text)} characters)" if len(text) > SHOWN else ""
    return f"{message.opcode} {text[:SHOWN]!r}{more}"


def compare(without: list[Message], through: list[Message], allowed: Allowed, at: str) -> list[str]:
    """Compares two recordings. `at` is the side of the gateway on which the second was made.

    Returns the first difference of each direction of each connection.
    """
    before, after = recording.streams(without), recording.streams(through)
    if at == CLIENT:
        # The client does not know of the hosted tools.
        allowed = dataclasses.replace(allowed, declared=frozenset())
    found = []
    for connection, sender in sorted(before.keys() | after.keys()):
        key = (connection, sender)
        problem = difference(
            before.get(key, []),
            after.get(key, []),
            allowed if CLIENT in (sender, at) else Allowed(),
            split=CLIENT in (sender, at),
            added=sender == CLIENT and at == VENDOR,
        )
        if problem is not None:
            found.append(f"connection {connection}, from the {sender}, {problem}")
    return found


def main() -> int:
    """Compares two files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("without", type=pathlib.Path)
    parser.add_argument("through", type=pathlib.Path, metavar="with")
    parser.add_argument("--at", choices=(CLIENT, VENDOR), default=CLIENT)
    parser.add_argument("--fates", type=pathlib.Path)
    parser.add_argument("--declared", action="append", default=[], metavar="TOOL")
    given = parser.parse_args()
    fates = json.loads(given.fates.read_text()) if given.fates else {}
    allowed = Allowed(fates, frozenset(given.declared))
    found = compare(recording.read(given.without), recording.read(given.through), allowed, given.at)
    print("\n".join(found) or "no difference")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
