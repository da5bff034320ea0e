"""Verifies an exported journal: verify_export.py FILE [ROOT]

FILE is what `recount export` wrote: objects, records and one trailer, each one line of JSON.
Its records are in the order of the log, with their leaf indexes (format 2), or session by session
(format 1). ROOT is the root hash of an earlier verification that was kept elsewhere.
Exit code 0: the export is consistent, and has the given ROOT. Exit code 4: it is not; the first
ten problems are printed. It needs Python 3 only. `docs/evidence.md` describes the format.
"""

import base64
import hashlib
import json
import sys

SYSTEM_STREAM = "00000000-0000-0000-0000-000000000000"  # the journal's own; it is no session
NO_HASH = "0" * 64  # the `prev` of the first record of a session


def sha256(data):
    return hashlib.sha256(data).digest()


class MerkleTree:
    """The hash over all records in their order, as in RFC 6962.

    A leaf is the hash of a zero byte and the line. A node is the hash of a byte 1 and its two
    children. `roots` holds complete subtrees as (number of leaves, hash), the largest first."""

    def __init__(self):
        self.roots = []

    def size(self):
        return sum(size for size, _ in self.roots)

    def add(self, leaf, size=1):
        node = leaf
        while self.roots and self.roots[-1][0] == size:
            _, left = self.roots.pop()
            size, node = size * 2, sha256(b"\1" + left + node)
        self.roots.append((size, node))

    def root(self):
        if not self.roots:
            return sha256(b"")
        *larger, (_, node) = self.roots
        for _, left in reversed(larger):
            node = sha256(b"\1" + left + node)
        return node


class Export:
    def __init__(self):
        self.problems = []
        self.tree = MerkleTree()
        self.records = 0
        self.objects = []  # the hash of each object so far
        self.heads = {}  # the last record of each session so far: (seq, hash)
        self.session = ""  # the session of the last record
        self.next_leaf = None  # the index of the next leaf, in format 2
        self.is_whole = False  # True if all leaves so far are here
        self.withheld = 0  # the records of which only the hash is here
        self.leaves = {}  # the leaves of each session
        self.times = []  # the first and the last time of all records
        self.known_heads = {}  # `heads` as the trailer has them
        self.trailer = None  # (records, objects, root)

    def read_line(self, number, line):
        if self.trailer:
            self.problems.append(f"line {number} stands behind the trailer")
        try:
            value = json.loads(line)
            if "object" in value:
                self.read_object(number, value)
            elif "leaf" in value:
                self.read_leaf_index(number, value["leaf"])
            elif "withheld" in value:
                self.withheld += 1
                leaf = bytes.fromhex(value["withheld"]["hash"])
                self.read_record(leaf, value["withheld"]["record"])
            elif "subtree" in value:
                self.read_subtree(number, value["subtree"])
            elif "trailer" in value:
                self.read_trailer(value["trailer"])
            else:
                self.read_record(sha256(b"\0" + line), value)
        except Exception as error:
            self.at_next(f"line {number} is no line of an export: {error!r}")

    def read_object(self, number, value):
        data = value["text"].encode() if "text" in value else base64.b64decode(value["base64"])
        self.objects.append(sha256(data).hex())  # an object has the address of its bytes
        if self.objects[-1] != value["object"]:
            self.problems.append(f"line {number}: object {value['object']} is altered")

    def read_leaf_index(self, number, leaf):
        """The first line of format 2 has the index of the first leaf."""
        if self.next_leaf is None and number > 1:
            self.problems.append(f"line {number} is of format 2, the first is not")
        if leaf < (self.next_leaf or 0):
            self.problems.append(f"line {number}: leaf {leaf} is there already")
        self.is_whole = leaf == (self.next_leaf or 0) and (self.is_whole or number == 1)
        self.next_leaf = leaf

    def read_subtree(self, number, subtree):
        """The root of leaves that are not here."""
        size = subtree["leaves"]
        full = size > 0 and size & (size - 1) == 0 and self.tree.size() % size == 0
        if not (self.is_whole and full):
            self.problems.append(f"line {number}: no subtree of {size} leaves begins here")
            return
        self.tree.add(bytes.fromhex(subtree["hash"]), size)
        self.next_leaf += size

    def read_trailer(self, trailer):
        heads = {name: (head["seq"], head["hash"]) for name, head in trailer["heads"].items()}
        self.trailer = (trailer["records"], trailer["objects"], trailer["root"])
        self.trailer += (trailer.get("format", 1), trailer.get("size"))
        self.known_heads = heads

    def read_record(self, leaf, value):
        """A record follows the one before it in its session: by number, and by hash."""
        before, session, seq = self.session, value["session"], value["seq"] + 0
        self.session, self.records = session, self.records + 1
        if self.next_leaf is not None:
            self.next_leaf += 1
        elif session < before:
            self.at(session, seq, f"stands behind session {before}")
        last, last_hash = self.heads.get(session, (0, NO_HASH))
        if seq != last + 1:
            self.at(session, last + 1, f"missing, seq {seq} stands there")
        elif value["prev"] != last_hash:
            self.at(session, max(last, 1), "altered, or the next is")
        time = value["at"]
        self.times = [min(self.times[:1] + [time]), max(self.times[-1:] + [time])]
        names_objects = value["kind"] in ("runner_attached", "catalog_changed")
        body = (value["body"] or {}) if names_objects else {}
        named = [body[name] for name in ("catalog", "policies") if name in body]
        self.heads[session] = (seq, leaf.hex())
        if any(name not in self.objects for name in named):
            self.at(session, seq, "an object it names does not stand before it")
        self.leaves.setdefault(session, []).append(leaf)
        self.tree.add(leaf)

    def at_next(self, problem):
        last = self.heads.get(str(self.session), (0,))[0]
        self.at(self.session, last + 1, problem)

    def at(self, session, seq, problem):
        self.problems.append(f"session {session} seq {seq}: {problem}")

    def compare_with_trailer(self, root):
        if not self.trailer:
            self.at_next("cut off here, there is no trailer")
            return
        for session in sorted({*self.heads, *self.known_heads}):
            head, known = self.heads.get(session), self.known_heads.get(session)
            if head != known:
                last = head[0] if head else 0
                self.at(session, last or 1, f"ends here, the trailer knows {known}")
        form = 1 if self.next_leaf is None else 2
        size = self.next_leaf if self.is_whole else None
        found = (self.records, len(self.objects), root, form, size)
        compared = 5 if self.records else 3
        if self.trailer[:compared] != found[:compared]:
            self.problems.append("counts, root, format or size differ from the trailer")

    def root_by_session(self):
        """The root of a journal before format 2."""
        tree = MerkleTree()
        for session in sorted(self.leaves):
            for leaf in self.leaves[session]:
                tree.add(leaf)
        return tree.root().hex()


def main(path, expected_root):
    export = Export()
    with open(path, "rb") as file:
        *lines, rest = file.read().split(b"\n")
    if rest:
        export.problems.append("the last line is cut off")
    for number, line in enumerate(lines, 1):
        export.read_line(number, line)
    root = export.tree.root().hex()
    export.compare_with_trailer(root)
    if expected_root not in (None, root, export.root_by_session()):
        expected = f"expected the root {expected_root}, which was kept elsewhere"
        export.problems.append(f"{expected}, found {root}")
    if export.problems:
        print("\n".join(ascii(it)[1:-1] for it in export.problems[:10]))  # no control characters
        return 4
    anchored = "sound, anchored to the root that was given"
    verdict = "consistent, not anchored" if expected_root is None else anchored
    sessions = len(export.heads.keys() - {SYSTEM_STREAM})
    counts = f"{sessions} sessions, {export.records} records, {len(export.objects)} objects"
    counts += f", of which {export.withheld} are withheld" if export.withheld else ""
    times = ascii(" to ".join(export.times) or "no time")[1:-1]
    print(f"{verdict}: {counts}, {times}, root {root}")
    return 0


sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
