"""Verifies an evidence bundle: verify.py [DIR] [--public-key KEY]... [--since CHECKPOINT]
DIR is an unpacked bundle of `recount evidence`. KEY is a public key of the journal from elsewhere,
or a file with some: one of them must have signed the latest checkpoint. CHECKPOINT is an earlier
one that was kept elsewhere: the records must begin with those that it is about. Exit code 0: no
fault. 4: a fault. 2: it cannot be checked. It needs Python 3.9, for keys with `cryptography`."""
import argparse, base64, functools, hashlib, io, json, pathlib, re, sys

RECORD = (rb'(?:\{"withheld":\{"hash":"([0-9a-f]{64})","record":)?\{"v":1,"session":"([0-9a-f-]+)",'
          rb'"seq":(\d+),"at":"[^"]+","kind":"([^"]+)",.*,"prev":"([0-9a-f]{64})"\}(?(1)\}\})\n')
OBJECTS = rb'"(?:catalog|policies|\$objects)":\[?"([0-9a-f]{64})"(?:,"([0-9a-f]{64})"\])?'
unbase64, sha256 = base64.b64decode, lambda data: hashlib.sha256(data).digest()
def need(holds, fault):
    if not holds:
        raise ValueError(fault)
def root_of(leaf, index, size, path):
    """The root of the tree to which the hashes beside a leaf lead: RFC 9162, section 2.1.3."""
    need(index < size and bool(path) == (size > 1), "a proof has too many hashes, or too few")
    if size == 1:
        return leaf
    left, (*path, beside) = 1 << (size - 1).bit_length() - 1, path
    if index < left:
        return sha256(b"\1" + root_of(leaf, index, left, path) + beside)
    return sha256(b"\1" + beside + root_of(leaf, index - left, size - left, path))

class Note:
    """A checkpoint: its origin, number of records, the root of their tree, and who signed it."""
    def __init__(self, note):
        self.note, (text, signatures) = note, note.rsplit("\n\n", 1)
        self.origin, size, root = text.split("\n")[:3]
        self.text, self.size, self.root = f"{text}\n".encode(), int(size), unbase64(root)
        signatures = map(str.split, signatures.splitlines())
        self.signatures = [(name, unbase64(it)) for _, name, it in signatures]
    def signers(self, keys):
        found = [(name, key.verify(it[4:], self.text)) for name, identity, key in keys
                 for signer, it in self.signatures if (signer, it[:4].hex()) == (name, identity)]
        need(found or not keys, f"no given key has signed the checkpoint of {self.size} records")
        return [name for name, _ in found]

class Records:
    """The records of `records.jsonl` in the order of the log, and the tree over all leaves."""
    def __init__(self, lines, sizes, places):
        self.roots = dict.fromkeys(sizes)  # The wanted roots, by the number of leaves.
        self.leaves = leaves = dict.fromkeys(places)  # The wanted leaves, by their index.
        self.size, self.full, self.shown, heads, trailer = 0, [], 0, {}, None
        self.objects, self.named, matches = set(), set(), re.compile(RECORD).fullmatch
        for number, line in enumerate(lines, 1):
            need(not trailer and (number == 1) == (line == b'{"leaf":0}\n'), "not a whole file")
            if match := matches(line):
                withheld, session, seq, kind, prev = match.groups()
                leaf = bytes.fromhex(withheld.decode()) if withheld else sha256(b"\0" + line[:-1])
                last, known = heads.get(session, (0, b"0" * 64))
                need((int(seq), prev) == (last + 1, known), f"{session}: {last + 1} is altered")
                heads[session] = (last + 1, leaf.hex().encode())
                if self.size in leaves:
                    leaves[self.size] = leaf
                self.add(leaf)
                self.shown += not withheld
                if kind in (b"runner_attached", b"catalog_changed") and not withheld:
                    self.named.update(it for it in sum(re.findall(OBJECTS, line), ()) if it)
                    need(self.named <= self.objects, f"line {number} names an unknown object")
            elif number > 1:
                value = json.loads(line)
                if "subtree" in value:
                    self.add(bytes.fromhex(value["subtree"]["hash"]), value["subtree"]["leaves"])
                elif "object" in value:
                    data = value["text"].encode() if "text" in value else unbase64(value["base64"])
                    need(sha256(data).hex() == value["object"], f"line {number}: altered object")
                    self.objects.add(value["object"].encode())
                else:
                    trailer = value["trailer"]
        self.records = sum(it for it, _ in heads.values())
        self.sessions = sum(id.strip(b"0-") != b"" for id in heads)  # The nil one is no session.
        heads = {id.decode(): {"seq": n, "hash": it.decode()} for id, (n, it) in heads.items()}
        found = {"format": 2, "records": self.records, "objects": len(self.objects),
                 "heads": heads, "root": self.root().hex(), "size": self.size}
        need(trailer == found, "records.jsonl: its trailer has other counts, heads or root")
    def add(self, node, leaves=1):
        place, odd = divmod(self.size, leaves)
        need(not odd and not leaves & (leaves - 1), "a subtree stands where none can be")
        while place & 1:
            node, place = sha256(b"\1" + self.full.pop() + node), place >> 1
        self.full.append(node)
        self.size += leaves
        if self.size in self.roots:
            self.roots[self.size] = self.root()
    def root(self):
        return functools.reduce(lambda node, left: sha256(b"\1" + left + node), self.full[::-1])

def verify(folder, keys, since):
    files = {it.relative_to(folder).as_posix(): it.read_bytes()
             for it in folder.rglob("*") if not it.is_dir()}
    listed = {tuple(it.split("  ", 1)) for it in files.pop("MANIFEST.sha256").decode().splitlines()}
    odd = listed ^ {(sha256(it).hex(), name) for name, it in files.items()}
    need(not odd, f"altered, missing or additional: {sorted({name for _, name in odd})}")
    notes = {it: Note(files[it].decode()) for it in files if it.startswith("checkpoint")}
    latest, checkpoints = notes.get("checkpoint"), [*notes.values(), *since]
    proofs = [(it, *files[it].decode().split("\n\n", 1)) for it in files if it[:7] == "proofs/"]
    proofs = [(name, note, *map(str.split, head.split("\n"))) for name, head, note in proofs]
    lines, places = io.BytesIO(files["records.jsonl"]), [int(it[4][1]) for it in proofs]
    records = Records(lines, {it.size for it in checkpoints}, places)
    for it in checkpoints:
        need(records.roots[it.size] == it.root, f"{it.size} signed, here other {records.size}")
    for name, note, _, (_, line), (_, index), *path in proofs:
        line, index, path = unbase64(line) + b"\n", int(index), [unbase64(it) for it, in path]
        leaf, place = sha256(b"\0" + line[:-1]), re.fullmatch(RECORD, line).group(2, 3)
        found = (b"proofs/%s-%s.tlog-proof" % place, leaf, root_of(leaf, index, latest.size, path))
        known = (name.encode(), records.leaves[index], latest.root)
        need(found == known and note == latest.note, f"{name} is not of these records")
    terms = [it for it in files if it.startswith(("policies/", "contracts/"))]
    stems = {pathlib.PurePath(it).stem.encode() for it in terms}
    need(stems == {sha256(files[it]).hex().encode() for it in terms} == records.objects
         == records.named, "the policies and contracts are not those that the records name")
    found = {"size": records.size, "root": records.root().hex(), "records": records.records,
             "disclosed": records.shown, "sessions_in_scope": records.sessions,
             "signed": latest and latest.size}
    told = json.loads(files["bundle.json"])
    need(told.items() >= found.items(), "bundle.json: other counts")
    limited = told["disclose"] != "all" or told["sample"] or told["redacted"]
    need(limited or records.shown == records.records, "bundle.json says all, some are withheld")
    need(latest or not keys, "there is no checkpoint that a given key has signed")
    what = "{sessions_in_scope} sessions, {records} of {size} records, {disclosed} shown whole"
    anchors = [(it.size, it.origin, it.signers(keys)) for it in since + [latest] * bool(keys)]
    if not anchors:
        return f"Consistent bundle, not anchored: {what.format(**found)}"
    size, origin, names = max(anchors)
    names = ", ".join(names) or "keys that were not checked"
    return (f"Sound bundle, anchored to the checkpoint of {size} records of {origin}, signed by "
            f"{names}; {records.size - size} later are only consistent: {what.format(**found)}")
parser, keys, code = argparse.ArgumentParser(description=__doc__), [], 2
parser.add_argument("bundle", nargs="?", default=".", type=pathlib.Path)
for option in "--public-key", "--since":
    parser.add_argument(option, action="append", default=[])
given = parser.parse_args()
try:
    if given.public_key:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    known = " ".join(open(k).read() if pathlib.Path(k).exists() else k for k in given.public_key)
    for name, identity, key in ((it.split("+", 2) + ["", ""])[:3] for it in known.split()):
        need(sha256(f"{name}\n".encode() + unbase64(key))[:4].hex() == identity, f"no key: {name}")
        keys.append((name, identity, Ed25519PublicKey.from_public_bytes(unbase64(key)[1:])))
    need(given.bundle.is_dir(), f"expected an unpacked bundle, found {given.bundle}")
    since, code = [Note(open(it, encoding="utf-8").read()) for it in given.since], 4
    line, code = verify(given.bundle, keys, since), 0
except Exception as error:
    what = "Damaged bundle" if code == 4 else "It cannot be checked"
    line = f"{what}: {type(error).__name__}: {error}"
print(ascii(line)[1:-1])
for it in given.bundle.glob("MANIFEST.sha256"):
    print("manifest", sha256(it.read_bytes()).hex())
sys.exit(code)
