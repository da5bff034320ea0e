#!/usr/bin/env python3
"""Builds the packages that carry the program: a wheel, and tarballs for npm.

    build.py --program target/release/recount --out DIRECTORY

The version is that of the workspace. The system and the processor are read from the program. It
needs Python 3.11, uv (`pip install uv`) and npm.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# The processors of ELF files: their names for wheels and for Node.
PROCESSORS = {62: ("x86_64", "x64"), 183: ("aarch64", "arm64")}

# The kind of a segment that names the dynamic loader. A static program has none.
INTERPRETER = 3

# The packages of a program, for the optional dependencies of the launcher.
SYSTEMS = ("linux-x64", "linux-arm64")


class Program:
    """A program for Linux, and what its file says about the machines on which it runs."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.content = path.read_bytes()
        # 64 bits, little-endian: both processors are.
        if self.content[:6] != b"\x7fELF\x02\x01":
            sys.exit(f"{path} is no 64-bit program for Linux")
        (machine,) = struct.unpack_from("<H", self.content, 18)
        if machine not in PROCESSORS:
            sys.exit(f"{path} is for a processor that has no package (ELF machine {machine})")
        self.wheel_processor, self.node_processor = PROCESSORS[machine]

    def is_static(self) -> bool:
        """True if it runs with every C library."""
        (table,) = struct.unpack_from("<Q", self.content, 32)
        size, count = struct.unpack_from("<HH", self.content, 54)
        places = (table + at * size for at in range(count))
        return all(struct.unpack_from("<I", self.content, at)[0] != INTERPRETER for at in places)

    def wheel_platform(self) -> str:
        """The platforms of the wheel: the oldest C library with which the program runs."""
        if self.is_static():
            return f"manylinux_2_17_{self.wheel_processor}.musllinux_1_1_{self.wheel_processor}"
        found = re.findall(rb"GLIBC_2\.(\d+)", self.content)
        if not found:
            sys.exit(f"{self.path} is linked to a C library other than glibc; build a static one")
        return f"manylinux_2_{max(map(int, found))}_{self.wheel_processor}"


def version() -> str:
    """Returns the version of the workspace."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    return str(manifest["workspace"]["package"]["version"])


def copy_texts(directory: pathlib.Path) -> None:
    """Copies the licences and the page of all packages."""
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        shutil.copy(ROOT / name, directory)
    shutil.copy(HERE / "README.md", directory)


def copy_program(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copies a program or a script, as an executable file."""
    shutil.copy(source, target)
    target.chmod(0o755)


def build_wheel(program: Program, scratch: pathlib.Path, out: pathlib.Path) -> None:
    """Builds the wheel."""
    place = scratch / "wheel"
    shutil.copytree(HERE / "wheel", place)
    copy_texts(place)
    copy_program(program.path, place / "recount")
    (place / "version.py").write_text(f"__version__ = {version()!r}\n")
    environment = os.environ | {"RECOUNT_WHEEL_PLATFORM": program.wheel_platform()}
    command = [uv(), "build", "--quiet", "--wheel", "--no-create-gitignore"]
    subprocess.run([*command, "--out-dir", out, place], check=True, env=environment)


def uv() -> str:
    """Returns the program that builds wheels, preferring the one beside this Python."""
    beside = pathlib.Path(sys.executable).with_name("uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    return found or sys.exit("uv is not installed: pip install uv")


def build_npm(
    name: str,
    fields: dict[str, Any],
    executable: pathlib.Path,
    scratch: pathlib.Path,
    out: pathlib.Path,
) -> None:
    """Builds a tarball for npm: its name, its own fields of package.json, and its executable."""
    place = scratch / name
    (place / "bin").mkdir(parents=True)
    copy_texts(place)
    copy_program(executable, place / "bin" / executable.name)
    manifest = {
        "name": name,
        "version": version(),
        "description": "The program recount: approvals, sessions and their journal",
        "license": "(MIT OR Apache-2.0)",
        "keywords": ["agents", "approvals", "audit", "llm", "tools"],
        "files": ["bin", "LICENSE-*"],
        **fields,
    }
    (place / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
    command = ["npm", "pack", "--silent", "--pack-destination", str(out)]
    subprocess.run(command, check=True, cwd=place, stdout=subprocess.DEVNULL)


def build_npm_program(program: Program, scratch: pathlib.Path, out: pathlib.Path) -> None:
    """Builds the package with the program.

    It declares no command: npm would link it to the place of the launcher's.
    """
    fields: dict[str, Any] = {"os": ["linux"], "cpu": [program.node_processor]}
    if not program.is_static():
        fields["libc"] = ["glibc"]
    renamed = scratch / "program" / "recount"
    renamed.parent.mkdir()
    copy_program(program.path, renamed)
    build_npm(f"recount-cli-linux-{program.node_processor}", fields, renamed, scratch, out)


def build_npm_launcher(scratch: pathlib.Path, out: pathlib.Path) -> None:
    """Builds the launcher, which starts the program of the machine's package."""
    fields = {
        "type": "module",
        "bin": {"recount": "bin/recount.mjs"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {f"recount-cli-{system}": version() for system in SYSTEMS},
    }
    build_npm("recount-cli", fields, HERE / "npm" / "recount.mjs", scratch, out)


def main() -> None:
    """Builds all packages of one program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True, help="the file recount")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="created if needed")
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    program = Program(given.program.resolve())
    # The pool waits for its packages before the directory is removed.
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor() as pool:
        scratch = pathlib.Path(directory)
        # Compression of the program takes seconds, so the packages are built at the same time.
        building = [
            pool.submit(build_wheel, program, scratch, out),
            pool.submit(build_npm_program, program, scratch, out),
            pool.submit(build_npm_launcher, scratch, out),
        ]
    for package in building:
        package.result()


if __name__ == "__main__":
    main()
