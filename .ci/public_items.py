#!/usr/bin/env python3
"""Lists the public items of the library crates, one a line, from rustdoc's JSON.

    python3 .ci/public_items.py           prints the list
    python3 .ci/public_items.py --write   writes it to docs/public-items.txt
    python3 .ci/public_items.py --check   fails with a diff if the file differs

A line is `path: kind and signature`. The path is the shortest one by which an embedder reaches
the item; each further path has a line `pub use`. Re-exports are followed through private modules
and through the other crates of the workspace, so an item can move between them unnoticed.

Names of types: ours by that shortest path without `recount::`; those of std by their last
segment; those of other crates by crate and last segment. `private::X` has no public path.
Hidden items are listed and marked, since the code of `#[tool]` uses them.

Left out: items for `cfg(doc)` alone, blanket and auto-trait implementations, values of
constants, methods of trait implementations, and attributes other than `non_exhaustive`,
`deprecated` and `doc(hidden)`.
"""

import difflib
import gc
import heapq
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # A run of `.ci/run` leaves nothing in the tree.
from public_items_render import Renderer

ROOTS = ("recount", "recount_journal")
FORMAT = 57  # The format of Rust 1.95.
LIST = Path("docs/public-items.txt")
COMMAND = "python3 .ci/public_items.py --write"
HEADER = f"# Written by `{COMMAND}`; a change needs a line in CHANGELOG.md.\n"
MACROS = {"proc_attribute": "attribute macro", "proc_derive": "derive macro", "macro": "macro"}
# The traits that share one line of their type.
COMMON = set("Clone Copy Debug Default Display Eq Hash Ord PartialEq PartialOrd".split()) | {
    "error::Error", "schemars::JsonSchema", "serde::Deserialize<'de>", "serde::Serialize"}
# Markers internal to the standard library that `derive` implements.
INTERNAL = ("StructuralPartialEq", "TrivialClone")


def make_json():
    """Runs rustdoc on the libraries of the workspace. Returns {crate: JSON} and the names of the
    crates of procedural macros."""
    metadata = json.loads(subprocess.check_output(
        ["cargo", "metadata", "--no-deps", "--format-version", "1"]))
    target = Path(metadata["target_directory"])
    target.mkdir(parents=True, exist_ok=True)
    # Only rustdoc gets the variable. Build scripts watch it (that of proc-macro2 does): in the
    # environment of cargo it would rebuild most dependencies.
    wrapper = target / "rustdoc-for-json"
    real = shlex.quote(os.environ.get("RUSTDOC", "rustdoc"))
    wrapper.write_text(f'#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec {real} "$@"\n')
    wrapper.chmod(0o755)
    flags = "-Z unstable-options --output-format json --document-hidden-items --cap-lints allow"
    # The same packages and features as in the step "documentation", so that its dependencies are
    # reused. Cargo takes the HTML of that step away and writes it again at the next `cargo doc`.
    subprocess.run(
        ["cargo", "doc", "--quiet", "--workspace", "--lib", "--all-features", "--no-deps"],
        env={**os.environ, "RUSTDOC": str(wrapper), "RUSTDOCFLAGS": flags}, check=True)
    targets = [t for package in metadata["packages"] for t in package["targets"]]
    docs = {}
    for name in (t["name"] for t in targets if "lib" in t["kind"]):
        docs[name] = json.loads((target / "doc" / f"{name}.json").read_text())
        if docs[name]["format_version"] != FORMAT:
            print(f"rustdoc's JSON has format {docs[name]['format_version']}; this script was "
                  f"written for {FORMAT}", file=sys.stderr)
    return docs, {t["name"] for t in targets if "proc-macro" in t["kind"]}


class Items:
    """The items of several crates. A key is (crate, id), or (None, path) for an item of a crate
    whose JSON is not here."""

    def __init__(self, docs, macro_crates):
        self.docs, self.macro_crates = docs, macro_crates
        self.defined, self.kinds = {}, {}
        for crate, doc in docs.items():
            for id_, entry in doc["paths"].items():
                if entry["crate_id"] == 0 and id_ in doc["index"]:
                    self.defined[entry["kind"], tuple(entry["path"])] = (crate, id_)

    def root(self, crate):
        return crate, str(self.docs[crate]["root"])

    def key(self, crate, id_):
        """The key of the item that `crate` calls `id_`; None if its JSON has no such item."""
        doc, id_ = self.docs[crate], str(id_)
        if id_ in doc["index"] and doc["index"][id_]["crate_id"] == 0:
            return crate, id_
        if id_ not in doc["paths"]:
            return None
        entry = doc["paths"][id_]
        path = tuple(entry["path"])
        if len(path) == 1 and path[0] in self.docs and entry["kind"] == "module":
            return self.root(path[0])
        self.kinds[None, path] = entry["kind"]
        return self.defined.get((entry["kind"], path), (None, path))

    def item(self, key):
        return self.docs[key[0]]["index"][key[1]]

    def kind(self, key):
        return self.kinds[key] if key[0] is None else next(iter(self.item(key)["inner"]))

    def inner(self, key):
        return self.item(key)["inner"][self.kind(key)]

    def children(self, module, above=()):
        """The items in scope of a module or an enum for its users: {(name, namespace): key}."""
        if module in above:
            return {}
        named, by_glob = {}, {}
        inner, crate = self.inner(module), module[0]
        for id_ in inner["items"] if "items" in inner else inner["variants"]:
            key = self.key(crate, id_)
            if key is None or self.item(key)["visibility"] not in ("public", "default"):
                continue
            attributes = map(str, self.item(key)["attrs"])
            if any("CfgTrace" in a and 'name: "doc"' in a for a in attributes):
                continue
            kind, name = self.kind(key), self.item(key)["name"]
            if kind == "use":
                use = self.inner(key)
                name, key = use["name"], self.key(crate, use["id"])
                kind = key and self.kind(key)
                if use["is_glob"] and key and key[0] and kind in ("module", "enum"):
                    by_glob.update(self.children(key, (*above, module)))
                    continue
                if key is None or use["is_glob"]:
                    key, name = (None, (use["source"],)), "*" if use["is_glob"] else name
            named[name, namespace(kind)] = key
        return {**by_glob, **named}


def namespace(kind):
    """The namespace of a kind: a type and a function may have one name."""
    if kind in ("function", "constant", "static"):
        return "values"
    return "macros" if kind in MACROS else "types"


def walk(items):
    """Finds every reachable item. Returns {key: shortest path} and the lines of the other
    paths."""
    names, lines = {}, []
    # Paths through the first root and not through a prelude come first.
    heap = [(rank, False, 1, name, "", items.root(name)) for rank, name in enumerate(ROOTS)]
    while heap:
        rank, _, length, path, _, key = heapq.heappop(heap)
        if key[0] is None and key[1][0] not in items.macro_crates:
            outer = key[1] if len(key[1]) < 3 else (key[1][0], key[1][-1])
            lines.append(f"{path}: pub use {'::'.join(outer)}")
            continue
        if key in names:
            lines.append(f"{path}: pub use {names[key]}")
            continue
        names[key] = path
        if key[0] is None:
            lines.append(f"{path}: {MACROS[items.kind(key)]}")
        elif items.kind(key) == "module":
            for (name, space), child in items.children(key).items():
                below = f"{path}::{name}"
                prelude = "::prelude" in below
                heapq.heappush(heap, (rank, prelude, length + 1, below, space, child))
        elif items.kind(key) == "enum":
            for variant in items.inner(key)["variants"]:
                names.setdefault(items.key(key[0], variant),
                                 f"{path}::{items.item((key[0], str(variant)))['name']}")
    return names, lines


def fields_and_variants(items, render, key, path):
    """The lines of an item's parts: fields, variants, items of a trait."""
    kind, inner, crate = items.kind(key), items.inner(key), key[0]
    parts = []
    if kind == "enum":
        parts = inner["variants"]
    elif kind == "trait":
        parts = inner["items"]
    elif kind in ("struct", "variant") and isinstance(inner["kind"], dict):
        parts = inner["kind"].get("plain", inner["kind"].get("struct", {})).get("fields", [])
    for id_ in parts:
        part = (crate, str(id_))
        if part[1] not in items.docs[crate]["index"]:
            continue
        below = f"{path}::{items.item(part)['name']}"
        yield f"{below}: {render.item(part, in_trait=kind == 'trait')}"
        yield from fields_and_variants(items, render, part, below)


def implementations(items, render, names):
    """The lines of methods and of trait implementations."""
    common = {}
    for crate, doc in items.docs.items():
        for id_, item in doc["index"].items():
            inner = item["inner"].get("impl")
            if not inner or item["crate_id"] or inner["is_synthetic"] or inner["blanket_impl"]:
                continue
            head = inner["for"].get("resolved_path") if isinstance(inner["for"], dict) else None
            owner = head and names.get(items.key(crate, head["id"]))
            if inner["trait"] is None:
                if owner:
                    yield from methods(items, render, (crate, id_), owner)
                continue
            trait, line = render.implementation((crate, id_))
            if "private::" in line or trait in INTERNAL:
                continue
            named = names.get(items.key(crate, inner["trait"]["id"]))
            if owner and trait in COMMON and line == f"impl {trait}":
                common.setdefault(owner, set()).add(trait)
            elif owner or named:
                yield f"{owner or named}: {line}"
    for owner, traits in common.items():
        yield f"{owner}: impl {' + '.join(sorted(traits))}"


def methods(items, render, key, owner):
    """The lines of an inherent implementation."""
    suffix = render.of_which(key)
    render.own = items.inner(key)["for"]["resolved_path"]
    for id_ in items.inner(key)["items"]:
        method = (key[0], str(id_))
        if method[1] in items.docs[key[0]]["index"]:
            item = items.item(method)
            if item["visibility"] == "public":
                yield f"{owner}::{item['name']}: {render.item(method)}{suffix}"
    render.own = None


def public_items():
    """The whole list, as text."""
    items = Items(*make_json())
    names, lines = walk(items)
    render = Renderer(items, names)
    for key, path in names.items():
        if key[0] is not None and items.kind(key) != "variant":
            lines.append(f"{path}: {render.item(key)}")
            lines.extend(fields_and_variants(items, render, key, path))
    lines.extend(implementations(items, render, names))
    return HEADER + "\n".join(sorted(set(lines))) + "\n"


def main():
    gc.disable()  # JSON of 43 MB is read in 1.6 s instead of 5.7 s (2026-11-26).
    os.chdir(Path(__file__).resolve().parent.parent)
    if sys.argv[1:] not in ([], ["--write"], ["--check"]):
        sys.exit("usage: python3 .ci/public_items.py [--write | --check]")
    text = public_items()
    if sys.argv[1:] == []:
        sys.stdout.write(text)
    elif sys.argv[1] == "--write":
        LIST.write_text(text)
    else:
        before = LIST.read_text().splitlines(keepends=True) if LIST.exists() else []
        after = text.splitlines(keepends=True)
        diff = list(difflib.unified_diff(before, after, str(LIST), "the code", n=0))
        if diff:
            sys.stdout.writelines(diff)
            sys.exit(f"public items changed; regenerate with `{COMMAND}` "
                     "and add a line to CHANGELOG.md")


if __name__ == "__main__":
    main()
