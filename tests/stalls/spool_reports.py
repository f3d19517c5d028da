# SPDX-License-Identifier: Apache-2.0
"""spool_reports - what is reported of many spools, by one process: it reads the symbols of each library once, which is most of what a report takes."""
import json
import os
import subprocess


def reports_of(stallbox, spools, options=(), environment=None):
    """The reports of each spool, oldest first, as a dictionary by spool; a spool that is not there, or holds no payload, has none."""
    payloads = {name[:-4]: spool for spool in spools if os.path.isdir(spool) for name in os.listdir(spool) if name.endswith(".sbx")}
    reports = {spool: [] for spool in spools}
    if payloads:
        told = subprocess.run([stallbox, "report", "--format", "json", *options, *sorted(set(payloads.values()))], env=environment,
                              timeout=120 + 10 * len(spools), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        for line in told.splitlines():
            if line.startswith("{"):
                report = json.loads(line)
                reports[payloads[report["payload_id"]]].append(report)
    return reports
