#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""monitoring_check.py PORT FOLDER - rules and dashboard of docs/monitoring against a running server and Debian's promtool.

Every series that a rule, a rule's test or a panel names is one that /metrics has; every expression is one that Prometheus reads; the rules
pass their tests. Without promtool the latter two are left out, and it says so."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

port, folder = sys.argv[1], sys.argv[2]
failures = []


def fail(what):
    failures.append(what)
    print("monitoring:", what, file=sys.stderr)


metrics = urllib.request.urlopen("http://127.0.0.1:%s/metrics" % port, timeout=60).read().decode()
there = set(re.findall(r"^(stallbox_\w+)", metrics, re.MULTILINE))


def promtool(*arguments, text=None):
    done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail("promtool %s: %s%s" % (" ".join(arguments[:2]), done.stdout[-2000:], done.stderr[-2000:]))


def in_folder(name):
    return os.path.join(folder, name)


for name in ("stallbox.rules.yml", "stallbox.rules.test.yml", "stallbox-dashboard.json"):
    text = open(in_folder(name), encoding="utf-8").read()
    for series in set(re.findall(r"\bstallbox_\w+", text)) - there:
        fail("%s names %s, which the server does not have" % (name, series))

dashboard = json.load(open(in_folder("stallbox-dashboard.json"), encoding="utf-8"))
targets = [target for panel in dashboard["panels"] for target in panel.get("targets", [])]
if len(targets) < 10:
    fail("the dashboard has %d expressions" % len(targets))
if len({panel["id"] for panel in dashboard["panels"]}) != len(dashboard["panels"]):
    fail("two panels have one id")

if shutil.which("promtool"):
    promtool("check", "rules", in_folder("stallbox.rules.yml"))
    promtool("test", "rules", in_folder("stallbox.rules.test.yml"))
    promtool("check", "metrics", text=metrics)
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as rules:  # the dashboard's expressions as rules, which promtool reads
        for number, target in enumerate(targets):
            expression = target["expr"].replace("$instance", ".*")
            rules.write("%s\n  - record: panel:%d\n    expr: %s\n" % ("" if number else "groups:\n- name: panels\n  rules:", number, json.dumps(expression)))
        rules.flush()
        promtool("check", "rules", rules.name)
else:
    print("monitoring: promtool is missing (apt-get install prometheus): rules are not tested", file=sys.stderr)
print("monitoring: %d series, %d expressions, %d failures" % (len(there), len(targets), len(failures)))
sys.exit(1 if failures else 0)
