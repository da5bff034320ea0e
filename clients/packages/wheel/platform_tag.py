"""Marks the wheel with the platforms on which its program runs, which `build.py` names."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface):
    """Sets the tag of the wheel from the environment."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Runs before the build."""
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + os.environ["RECOUNT_WHEEL_PLATFORM"]
