"""Marks the wheel with the platforms on which its program runs, which `build.py` names."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface):
    """Sets the tag of the wheel from the environment."""

    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + os.environ["RECOUNT_WHEEL_PLATFORM"]
