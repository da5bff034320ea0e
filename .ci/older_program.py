"""Runs the program of rules 1 on sessions of rules 1 and 2: older_program.py OLDER NEWER

OLDER is the program `recount` as built from a commit before rules 2, NEWER that of this commit. The
older one must refuse each session of rules 2 before it decides anything in it, also with
`--unknown-kinds skip`, and serve a session of rules 1 in the same journal: it shows, replays and
verifies it, and records an approval. It needs Python 3 only.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

NO_HASH = "0" * 64
ANSWERED = "confirmation_answered"
NEWER = "newer-rules"


def sha256(data):
    return hashlib.sha256(data).digest()


def merkle_root(leaves):
    """The root of a Merkle tree as in RFC 6962."""
    if len(leaves) == 1:
        return leaves[0]
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\1" + merkle_root(leaves[:half]) + merkle_root(leaves[half:]))


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Session:
    """The records of an export with one session, and the objects before each."""

    def __init__(self, path):
        self.records, self.objects = [], []
        for line in path.read_text("utf-8").splitlines():
            value = json.loads(line)
            if "object" in value:
                self.objects.append((len(self.records), value["text"]))
            elif "trailer" not in value:
                self.records.append(value)
        self.id = self.records[0]["session"]

    def renamed(self, last):
        """The same session under another id, whose last digit is `last`."""
        self.id = self.id[:-1] + last
        for record in self.records:
            record["session"] = self.id
        return self

    def before(self, kind):
        """Cuts off the first record of a kind and all after it."""
        kinds = [record["kind"] for record in self.records]
        del self.records[kinds.index(kind) :]
        self.objects = [it for it in self.objects if it[0] < len(self.records)]
        return self

    def names_rules_2(self):
        """True if a record that the older program knows names rules 2."""
        named = [it for it in self.records if it["kind"] in ("session_opened", "runner_attached")]
        return any(record["body"]["rules"] >= 2 for record in named)

    def under_rules_2(self):
        """The same session with a term of rules 2 in the policies of each tool with a gate."""
        renamed = {}
        for index, (at, text) in enumerate(self.objects):
            value = json.loads(text)
            for tool in value["tools"].values():
                if "confirm" in tool:
                    tool["confirm"]["quorum"] = 2
            self.objects[index] = (at, compact(value))
            renamed[sha256(text.encode()).hex()] = sha256(compact(value).encode()).hex()
        for record in self.records:
            if record["kind"] == "runner_attached":
                record["body"]["rules"] = 2
            body = compact(record["body"])
            for old, new in renamed.items():
                body = body.replace(old, new)
            record["body"] = json.loads(body)
        return self


def export(path, sessions):
    """Writes an export of sessions, with new hashes."""
    lines, leaves, heads, seen = [], [], {}, set()
    for session in sorted(sessions, key=lambda it: it.id):
        prev = NO_HASH
        for index, record in enumerate(session.records):
            for text in [text for at, text in session.objects if at == index]:
                address = sha256(text.encode()).hex()
                if address not in seen:
                    lines.append(compact({"object": address, "text": text}))
                    seen.add(address)
            record["prev"] = prev
            lines.append(compact(record))
            leaves.append(sha256(b"\0" + lines[-1].encode()))
            prev = leaves[-1].hex()
        heads[session.id] = {"seq": len(session.records), "hash": prev}
    counts = {"records": len(leaves), "objects": len(seen), "heads": heads}
    trailer = {**counts, "root": merkle_root(leaves).hex()}
    path.write_text("\n".join([*lines, compact({"trailer": trailer})]) + "\n", "utf-8")


class Program:
    """The older program in a folder, and what it did otherwise than expected."""

    def __init__(self, recount, folder):
        self.recount, self.folder, self.failed = recount, folder, []

    def run(self, *words):
        command = [self.recount, *map(str, words)]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True)

    def must(self, holds, told):
        if not holds:
            shown = " ".join(told.args)
            self.failed.append(f"{shown}: exit {told.returncode}\n{told.stdout}{told.stderr}")

    def serves(self, *words, saying=()):
        told = self.run(*words)
        self.must(told.returncode == 0 and all(it in told.stdout for it in saying), told)
        return told.stdout

    def refuses(self, *words, code=NEWER):
        told = self.run(*words)
        self.must(told.returncode == 4 and f"error[{code}]" in told.stderr, told)

    def requests(self, journal, session):
        """The ids of the requests that wait in a session."""
        rows = map(json.loads, self.serves("pending", journal, "--json").splitlines())
        return [row["request"] for row in rows if row["session"] == session]


def beside_each_other(program, corpus):
    """A session of rules 1 that waits for approval, and the same under rules 2 with a quorum.

    The older program reads bytes of both: it imports, verifies and lists them."""
    approved = corpus / "rules-1/approved.jsonl"
    old = Session(approved).before(ANSWERED)
    new = Session(approved).before(ANSWERED).under_rules_2().renamed("2")
    export(program.folder / "both.jsonl", [old, new])
    program.serves("import", "both.jsonl", "both")
    program.serves("verify", "both")
    program.serves("sessions", "both", saying=[old.id, new.id])
    for words in (["state", "both"], ["replay", "both"]):
        program.serves(*words, old.id)
        program.refuses(*words, new.id)
        program.refuses(*words, new.id, "--unknown-kinds", "skip")
    program.serves("log", "both", old.id)
    for session, answer in ((old, program.serves), (new, program.refuses)):
        requests = program.requests("both", session.id)
        if len(requests) != 1:
            program.failed.append(f"{session.id}: expected one request, found {requests}")
        for request in requests:
            answer("approve", "both", request)
    # The refused answer is not on record, the other is.
    program.serves("log", "both", old.id, saying=["approved by"])
    if program.requests("both", new.id) == []:
        program.failed.append(f"{new.id}: its request does not wait any more")


def corpus_of_rules_2(program, newer, corpus):
    """Each recorded session of rules 2, in a journal that the newer program made."""
    names = sorted((corpus / "rules-2").glob("*.jsonl"))
    for path in names:
        made = Program(newer, program.folder)
        made.serves("import", path, path.stem)
        program.failed += made.failed
        session = Session(path)
        # The first record that the older program does not know decides on the code.
        told = program.run("replay", path.stem, "--json")
        refused = any(f"error[{code}]" in told.stderr for code in (NEWER, "unreadable"))
        program.must(told.returncode == 4 and refused, told)
        if session.names_rules_2():
            program.refuses("replay", path.stem, "--unknown-kinds", "skip")
    return len(names)


def main(recount, newer, corpus):
    with tempfile.TemporaryDirectory() as folder:
        program = Program(recount, pathlib.Path(folder))
        beside_each_other(program, corpus)
        count = corpus_of_rules_2(program, newer, corpus)
    print("\n".join(program.failed) or f"refused as expected: {count + 1} sessions of rules 2")
    return 1 if program.failed else 0


if __name__ == "__main__":
    root = pathlib.Path(__file__).resolve().parent.parent
    programs = [str(pathlib.Path(it).resolve()) for it in sys.argv[1:3]]
    sys.exit(main(*programs, root / "fixtures/journals"))
