# SPDX-License-Identifier: Apache-2.0
"""swift_servers.py FOLDER ACCOUNT-PORT CONTAINER-PORT OBJECT-PORT - makes the rings, as swift-ring-builder does by a process for each step of each, and
forks the servers of FOLDER/etc. What they import is a second of CPU time, which four programs would take each. Ended, it ends them first."""
import ctypes
import os
import signal
import sys

import swift.account.server
import swift.container.server
import swift.obj.server
import swift.proxy.server  # noqa: all four, before there are children
from swift.common.ring import RingBuilder
from swift.common.wsgi import run_wsgi

PR_SET_PDEATHSIG = 1
folder, ports = sys.argv[1], sys.argv[2:]
names = ("account", "container", "object")
for name, port in zip(names, ports):
    builder = RingBuilder(4, 1, 0)
    builder.add_dev({"region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port), "replication_ip": "127.0.0.1", "replication_port": int(port),
                     "device": "sda1", "weight": 1.0, "meta": ""})
    builder.rebalance()
    builder.get_ring().save(f"{folder}/etc/{name}.ring.gz")
children = []
for name in (*names, "proxy"):
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        sys.exit(run_wsgi(f"{folder}/etc/{name}.conf", f"{name}-server"))
    children.append(child)
signal.signal(signal.SIGTERM, lambda *_: [os.kill(child, signal.SIGKILL) for child in children])
for child in children:
    os.waitpid(child, 0)
