"""Verifies an exported journal: verify_export.py FILE [ROOT]. Exit 0 when consistent, 4 when not or when ROOT, kept elsewhere, is another."""
import base64, hashlib, json, sys
sha, anchor, (*lines, rest) = lambda data: hashlib.sha256(data).digest(), (sys.argv[2:] or [None])[0], open(sys.argv[1], "rb").read().split(b"\n")
problems, heads, tree, records, objects, session, trailer, known, times = ["the last line is cut off"] if rest else [], {}, [], 0, [], "", None, {}, []
for number, line in enumerate(lines, 1):
    if trailer: problems.append(f"line {number} stands behind the trailer")
    try:
        value = json.loads(line)
        if "object" in value:
            objects.append(sha(value["text"].encode() if "text" in value else base64.b64decode(value["base64"])).hex())
            if objects[-1] != value["object"]: problems.append(f"line {number}: object {value['object']} is altered")
        elif "trailer" in value:
            known, trailer = {s: (head["seq"], head["hash"]) for s, head in value["trailer"]["heads"].items()}, tuple(value["trailer"][name] for name in ("records", "objects", "root"))
        else:
            before, session, seq, records, node, size = session, value["session"], value["seq"] + 0, records + 1, sha(b"\0" + line), 1
            if session < before: problems.append(f"session {session} seq {seq}: stands behind session {before}")
            last, prev = heads.get(session, (0, "0" * 64))
            if seq != last + 1: problems.append(f"session {session} seq {last + 1}: missing, seq {seq} stands there")
            elif value["prev"] != prev: problems.append(f"session {session} seq {max(last, 1)}: altered, or the next is")
            times = [min(times[:1] + [value["at"]]), max(times[-1:] + [value["at"]])]
            heads[session], named = (seq, node.hex()), [value["body"][name] for name in ("catalog", "policies") if value["kind"] == "runner_attached" and name in value["body"]]
            if any(name not in objects for name in named): problems.append(f"session {session} seq {seq}: an object it names does not stand before it")
            while tree and tree[-1][0] == size: node, size = sha(b"\1" + tree.pop()[1] + node), size * 2
            tree.append((size, node))
    except Exception as error: problems.append(f"session {session} seq {heads.get(str(session), (0,))[0] + 1}: line {number} is no line of an export: {error!r}")
root = tree.pop()[1] if tree else sha(b"")
while tree: root = sha(b"\1" + tree.pop()[1] + root)
problems += [f"session {s} seq {heads.get(s, (0,))[0] or 1}: ends here, the trailer knows {known.get(s)}" for s in sorted({*heads, *known} if trailer else []) if heads.get(s) != known.get(s)]
if not trailer: problems.append(f"session {session} seq {heads.get(str(session), (0,))[0] + 1}: cut off here, there is no trailer")
elif trailer != (records, len(objects), root.hex()): problems.append("counts or root differ from the trailer")
if anchor is not None and anchor != root.hex(): problems.append(f"expected the root {anchor}, which was kept elsewhere, found {root.hex()}")
verdict = "sound, anchored to the root that was given" if anchor is not None else "consistent, not anchored"
print("\n".join(problems[:10]) or f"{verdict}: {len(heads.keys() - {'00000000-0000-0000-0000-000000000000'})} sessions, {records} records, {len(objects)} objects, {' to '.join(times) or 'no time'}, root {root.hex()}"); sys.exit(4 if problems else 0)
