# SPDX-License-Identifier: Apache-2.0
"""Servers and other programs that begin as root: they give up rights, change their root, lock memory, enter namespaces. As hosts.py, run as root."""
from suites import hosts

OF = "bash"
PACKAGES = hosts.PACKAGES
USER = "root"


def jobs(place):
    return hosts.jobs_of(("daemons",))
