#!/usr/bin/env python3
"""Builds the packages that carry the program: a wheel, and tarballs for npm.

    build.py --program target/release/recount --out DIRECTORY

The version is that of the workspace. The system and the processor are read from the program. It
needs Python 3.11 with the package `build`, and npm.
"""

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

    def __init__(self, path):
        self.path = path
        self.content = path.read_bytes()
        # 64 bits, little-endian: both processors are.
        if self.content[:6] != b"\x7fELF\x02\x01":
            sys.exit(f"{path} is no 64-bit program for Linux")
        (machine,) = struct.unpack_from("<H", self.content, 18)
        if machine not in PROCESSORS:
            sys.exit(f"{path} is for a processor that has no package (ELF machine {machine})")
        self.wheel_processor, self.node_processor = PROCESSORS[machine]

    def is_static(self):
        """True if it runs with every C library."""
        (table,) = struct.unpack_from("<Q", self.content, 32)
        size, count = struct.unpack_from("<HH", self.content, 54)
        kinds = [struct.unpack_from("<I", self.content, table + at * size)[0] for at in range(count)]
        return INTERPRETER not in kinds

    def wheel_platform(self):
        """The platforms of the wheel: the oldest C library with which the program runs."""
        if self.is_static():
            return f"manylinux_2_17_{self.wheel_processor}.musllinux_1_1_{self.wheel_processor}"
        found = re.findall(rb"GLIBC_2\.(\d+)", self.content)
        if not found:
            sys.exit(f"{self.path} is linked to a C library other than glibc; build a static one")
        return f"manylinux_2_{max(map(int, found))}_{self.wheel_processor}"


def version():
    """The version of the workspace."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    return manifest["workspace"]["package"]["version"]


def copy_texts(directory):
    """Copies the licences and the page of all packages."""
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        shutil.copy(ROOT / name, directory)
    shutil.copy(HERE / "README.md", directory)


def build_wheel(program, scratch, out):
    """Builds the wheel."""
    place = scratch / "wheel"
    shutil.copytree(HERE / "wheel", place)
    copy_texts(place)
    shutil.copy(program.path, place / "recount")
    (place / "recount").chmod(0o755)
    (place / "version.py").write_text(f"__version__ = {version()!r}\n")
    environment = os.environ | {"RECOUNT_WHEEL_PLATFORM": program.wheel_platform()}
    command = [sys.executable, "-m", "build", "--quiet", "--wheel", "--outdir", out, place]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


def build_npm(name, fields, files, scratch, out):
    """Builds a tarball for npm: its name, the fields of package.json, and its executable files."""
    place = scratch / name
    (place / "bin").mkdir(parents=True)
    copy_texts(place)
    for source, inside in files:
        shutil.copy(source, place / "bin" / inside)
        (place / "bin" / inside).chmod(0o755)
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
    command = ["npm", "pack", "--silent", "--pack-destination", out]
    subprocess.run(command, check=True, cwd=place, stdout=subprocess.DEVNULL)


def build_npm_packages(program, scratch, out):
    """Builds the package with the program, and the launcher that starts it."""
    fields = {"os": ["linux"], "cpu": [program.node_processor]}
    if not program.is_static():
        fields["libc"] = ["glibc"]
    files = [(program.path, "recount")]
    name = f"recount-cli-linux-{program.node_processor}"
    # The launcher alone has the name of the command: npm links both into one directory.
    build_npm(name, fields, files, scratch, out)
    of_systems = {f"recount-cli-{system}": version() for system in SYSTEMS}
    fields = {
        "type": "module",
        "bin": {"recount": "bin/recount.mjs"},
        "engines": {"node": ">=18"},
        "optionalDependencies": of_systems,
    }
    files = [(HERE / "npm" / "recount.mjs", "recount.mjs")]
    build_npm("recount-cli", fields, files, scratch, out)


def main():
    """Builds all packages of one program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True, help="the file recount")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="created if needed")
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    program = Program(given.program.resolve())
    with tempfile.TemporaryDirectory() as scratch:
        build_wheel(program, pathlib.Path(scratch), out)
        build_npm_packages(program, pathlib.Path(scratch), out)


if __name__ == "__main__":
    main()
