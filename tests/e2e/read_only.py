"""Commands that only read, on a journal that their process may not write to.

The journal is that of another user, or of this one without the permission to write, and has a
checkpoint. `checkpoint list`, `prove` and `verify --since` work, and leave it as it is. A
service whose folder `tree` cannot be written serves, and tells operators so.

    read_only.py PROGRAM
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from service import CONFIG, PATIENCE_S, Connection, Service

# A user without any rights, for a process that may write everywhere.
NO_RIGHTS = 65534

CHECKPOINTS = """\
[checkpoints]
origin = "example.com/journal"
keys = ["checkpoint.key"]
"""


def content(directory: pathlib.Path) -> dict[str, tuple[int, bytes]]:
    """The files of a directory with their times."""
    files = [it for it in sorted(directory.rglob("*")) if it.is_file()]
    return {str(it): (it.stat().st_mtime_ns, it.read_bytes()) for it in files}


def reads(program: pathlib.Path, directory: pathlib.Path, *arguments: str) -> str:
    """Runs a command that may write nothing in the directory, and must succeed."""
    journal = directory / "journal"
    user = {"user": NO_RIGHTS, "group": NO_RIGHTS, "extra_groups": []} if os.geteuid() == 0 else {}
    for path in [journal, *journal.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = content(journal)
    done = subprocess.run(  # type: ignore[call-overload]
        [program, *arguments],
        cwd=directory,
        env={"TMPDIR": str(directory / "tmp")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        **user,
    )
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    assert content(journal) == before, f"{arguments} wrote to the journal"
    return str(done.stdout)


def checked(given: pathlib.Path, directory: pathlib.Path) -> None:
    """Plays it all in an empty directory."""
    program = directory / "recount"
    shutil.copy(given, program)
    files = {"recount.toml": CONFIG.replace("[agents.shop]", CHECKPOINTS + "[agents.shop]", 1)}
    service = Service(program, directory, files)
    made = service.run("checkpoint", "key", "example.com/journal", "--out", "checkpoint.key")
    assert made.returncode == 0, made.stderr
    # A file in place of the folder, which no user can make a folder of.
    (directory / "journal").mkdir(mode=0o700)
    for tree_is_kept in (True, False):
        if not tree_is_kept:
            shutil.rmtree(directory / "journal" / "tree")
            (directory / "journal" / "tree").write_text("no folder")
        service.start()
        try:
            connection = Connection(service, service.operator)
            _, status = connection.ask("GET", "/v1/checkpoints")
            assert (status["tree_error"] is None) == tree_is_kept, status
            _, opened = connection.ask("POST", "/v1/sessions", {"agent": "shop"}, str(tree_is_kept))
            assert service.stop() == 0
        finally:
            service.kill()
    (directory / "journal" / "tree").unlink()
    kept = service.run("checkpoint", "list", "journal", "--last").stdout
    (directory / "kept").write_text(kept)
    for path in (directory, directory / "tmp", directory / "out"):
        path.mkdir(exist_ok=True)
        path.chmod(0o777)
    listed = reads(program, directory, "checkpoint", "list", "journal", "--json")
    assert len(listed.splitlines()) == 2, listed
    last = json.loads(listed.splitlines()[-1])
    assert last["size"] == int(kept.splitlines()[1])
    session = opened["session"]
    reads(program, directory, "prove", "journal", session, "1", "--out", "out/it.tlog-proof")
    proven = reads(program, directory, "verify", "out/it.tlog-proof")
    assert "not anchored" in proven, proven
    verdict = reads(program, directory, "verify", "journal", "--since", "kept")
    assert verdict.startswith("Sound journal, anchored to the checkpoint of"), verdict
    print("a journal that may not be written is read")


def main() -> None:
    """Plays it all."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("program", type=pathlib.Path)
    with tempfile.TemporaryDirectory() as directory:
        checked(arguments.parse_args().program, pathlib.Path(directory))


if __name__ == "__main__":
    main()
