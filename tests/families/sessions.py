# SPDX-License-Identifier: Apache-2.0
"""sessions.py - daemons that start programs for others: sshd, cron, dbus-daemon."""
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time

from stage import children_of, is_alive, listens, need, need_root, wait_for

BLOB = "".join(chr(33 + i * 7919 % 90) for i in range(200000))

# ---- sshd ----


def ssh_files(stage):
    port = stage.port()
    for name in ("host_key", "key", "other_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", os.path.join(stage.folder, name)], check=True)
    shutil.copy(stage.folder + "/key.pub", stage.folder + "/authorized")
    stage.root = tempfile.mkdtemp(prefix="family-root-", dir="/run")  # nobody else may write anywhere above it
    stage.names[stage.root] = "ROOT"
    os.chmod(stage.root, 0o755)
    servers = glob.glob("/usr/lib/openssh/sftp-server") + ["internal-sftp"]
    # The usual exchange of keys is secure against machines that are yet to come, and takes half of a session's CPU time.
    settings = stage.file("sshd.conf", f"""
Port {port}
ListenAddress 127.0.0.1
HostKey {stage.folder}/host_key
PidFile {stage.folder}/pid
AuthorizedKeysFile {stage.folder}/authorized
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
KexAlgorithms curve25519-sha256
MaxStartups 50
LogLevel VERBOSE
Subsystem sftp {servers[0]}
Match LocalPort {port} User nobody
  ChrootDirectory {stage.root}
  ForceCommand internal-sftp
""")
    return port, settings


def sshd(stage):
    """Each connection: sshd forks and executes itself, the child forks one that gives up its rights in a chroot and behind a filter, and
    after the login one that becomes the user."""
    program, client, sftp, _ = need("sshd", "ssh", "sftp", "ssh-keygen")
    need_root()
    if not os.path.isdir("/run/sshd"):
        os.mkdir("/run/sshd", 0o755)
    port, settings = ssh_files(stage)
    common = ["-F", "none", "-q", "-i", stage.folder + "/key", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes"]
    ssh = [client, *common, "-p", str(port), "root@127.0.0.1"]
    process = stage.start([program, "-D", "-e", "-f", settings])
    stage.folders.append(stage.root)
    wait_for(lambda: listens(port), "answer of sshd")
    master = stage.main_pid(process)
    stage.watch(master)
    stage.run("a command", ssh + ["echo hello; echo wrong >&2; exit 7"])
    stage.run("what the session has", ssh + ["env | grep -v -e SSH_C -e SHLVL -e '^_=' | sort; umask; ulimit -n; grep -c stallbox /proc/self/maps; grep -E 'Groups|NoNewPrivs|Seccomp:|SigBlk|SigIgn|Threads' /proc/self/status; ls -l /proc/self/fd | wc -l"])
    stage.run("a terminal", [*ssh[:1], "-tt", *ssh[1:], "test -t 0 && echo terminal; stty -a | grep -c icanon; exit 3"], stdin=subprocess.DEVNULL)
    stage.run("its streams", ssh + ["md5sum"], input=BLOB)
    stage.run("ended by a signal", ssh + ["kill -KILL $$"])
    stage.run("many at the same time", ["sh", "-c", " & ".join([" ".join(f"'{word}'" for word in ssh) + " 'sleep 0.2; echo one' 2>/dev/null"] * 6) + " & wait"])
    batch = stage.file("batch", f"put {stage.folder}/sshd.conf {stage.folder}/copy\nget {stage.folder}/copy {stage.folder}/copy2\nls {stage.folder}/copy\nrm {stage.folder}/copy\n")
    stage.run("sftp", [sftp, *common, "-P", str(port), "-b", batch, "root@127.0.0.1"])
    stage.say("sftp brought the same", open(stage.folder + "/copy2", encoding="utf-8").read() == open(settings, encoding="utf-8").read())
    stage.run("sftp below another root", [sftp, *common, "-P", str(port), "-b", stage.file("batch2", "ls /\npwd\n"), "nobody@127.0.0.1"])
    wrong = [stage.folder + "/other_key" if word == stage.folder + "/key" else word for word in ssh]
    stage.run("a wrong key", wrong + ["true"])
    forwarded = stage.port("FORWARDED")
    through = subprocess.Popen([*ssh[:1], "-N", "-L", f"{forwarded}:127.0.0.1:{port}", *ssh[1:]], stdin=subprocess.DEVNULL)
    stage.processes.append(through)
    wait_for(lambda: listens(forwarded), "forwarded port")
    stage.run("through another session", [client, *common, "-p", str(forwarded), "root@127.0.0.1", "echo through"])
    through.terminate()
    through.wait()
    stays = subprocess.Popen(ssh + ["echo here; read line; echo $line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stage.processes.append(stays)
    stage.say("a session", stays.stdout.readline().strip())
    os.kill(master, signal.SIGHUP)  # sshd executes itself anew
    wait_for(lambda: open(stage.folder + "/out", encoding="utf-8").read().count("Server listening") == 2, "reload")
    wait_for(lambda: listens(port), "answer after a reload")
    stage.run("after a reload", ssh + ["echo again"])
    stage.watch(master)
    os.kill(master, signal.SIGTERM)
    wait_for(lambda: not is_alive(master), "end of sshd")
    stage.say("the session that goes on", *stays.communicate("still here\n", timeout=60)[:1], f"status {stays.returncode}")
    stage.say("end", f"status {process.wait(60)}")
    stage.log("log", stage.folder + "/out", drop=r"Closing conn|Transferred|isconnect|syslogin|Starting session|Close session|Could not get|kex_exchange|Connection (reset|closed) by|^\[F",
              pid=r"(?<=pid )\d+|(?<=child )\d+|(?<=User child is on pid )\d+", key=r"SHA256:\S+", port=r"port \d+( id \d+)?|127.0.0.1:\d+")


# ---- cron ----


def cron(stage, schedule, seconds):
    """In a mount namespace of its own, so that nothing of the machine's own tables runs."""
    program, unshare = need("cron", "unshare")
    need_root()
    own = stage.folder + "/etc"
    os.mkdir(own)
    job = stage.file("job", f"""#!/bin/sh
{{ echo "job of $(id -un), $#, $PWD"; env | grep -v -e SHLVL -e '^_=' | sort; umask; ulimit -n; grep -c stallbox /proc/self/maps
  grep -E 'Threads|SigBlk|SigIgn|Seccomp:' /proc/self/status; }} >>{stage.folder}/said.$1 2>&1
""", 0o755)
    os.chmod(stage.folder, 0o777)
    lines = f"SHELL=/bin/sh\nMAILTO=\"\"\n{schedule} root {job} a\n{schedule} nobody {job} b\n{schedule} root {job} c; exit 3\n"
    table = stage.file("etc/jobs", lines)
    os.chmod(own, 0o755)
    for name in ("crontabs", "run"):
        os.mkdir(os.path.join(stage.folder, name))
    script = f"""
mount --bind {table} /etc/crontab && mount --bind {stage.folder}/run /run && mount --bind {stage.folder}/crontabs /var/spool/cron/crontabs
[ ! -d /etc/cron.d ] || mount --bind {stage.folder}/crontabs /etc/cron.d
exec "$@"
"""
    before = {"a": 0, "b": 0, "c": 0}
    process = stage.start([unshare, "--mount", "sh", "-c", script, "sh", program, "-f"])
    master = stage.main_pid(process)
    wait_for(lambda: "cron" in open(f"/proc/{master}/comm", encoding="utf-8").read(), "cron")

    def has_run(letter):
        try:
            with open(f"{stage.folder}/said.{letter}", encoding="utf-8") as file:
                return file.read().count("Threads") > before[letter]
        except OSError:
            return False
    end = time.monotonic() + seconds
    while True:
        wait_for(lambda: all(has_run(letter) for letter in before), "jobs", 180)
        wait_for(lambda: not children_of(master), "end of the jobs")
        stage.watch(master)
        for letter in before:
            before[letter] += 1
        if time.monotonic() > end:
            break
    stage.end("end", process)
    for letter in "abc":
        with open(f"{stage.folder}/said.{letter}", encoding="utf-8") as file:
            jobs = file.read().split("job of")[1:]
        stage.say("job", *sorted(set(jobs)))
    stage.log("log", stage.folder + "/out")


def cron_reboot(stage):
    cron(stage, "@reboot", 0)


def cron_minutes(stage):
    cron(stage, "* * * * *", 100)


# ---- dbus-daemon ----


def dbus(stage, user=""):
    """A bus that starts services: a process between it and each of them looks whether it lives."""
    program, send = need("dbus-daemon", "dbus-send")
    need_root()
    path = stage.folder + "/bus"
    os.mkdir(stage.folder + "/services")
    os.chmod(stage.folder, 0o777)
    says = stage.file("says", f"#!/bin/sh\n{{ env | grep -v -e ADDRESS -e SHLVL -e '^_=' -e BUS_TYPE -e STALLBOX_ -e LD_PRELOAD -e ASAN_OPTIONS | cut -d= -f1 | sort | md5sum; id -un; }} >{stage.folder}/said\nexit 4\n", 0o755)
    for name, command in (("Fails", "/bin/false"), ("Missing", "/nowhere"), ("Says", says), ("Dies", "/bin/sh -c 'kill -SEGV $$'")):
        stage.file(f"services/org.example.{name}.service", f"[D-BUS Service]\nName=org.example.{name}\nExec={command}\n")
    settings = stage.file("bus.conf", f"""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>{user}<listen>unix:path={path}</listen><auth>EXTERNAL</auth><pidfile>{stage.folder}/pid</pidfile>
<servicedir>{stage.folder}/services</servicedir>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/></policy>
<limit name="service_start_timeout">20000</limit></busconfig>
""")
    process = stage.start([program, "--config-file=" + settings, "--nofork", "--nopidfile"])
    wait_for(lambda: os.path.exists(path), "bus")
    master = stage.main_pid(process)
    environment = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": "unix:path=" + path}

    def ask(what, method, *arguments, to="org.freedesktop.DBus"):
        stage.run(what, [send, "--session", "--print-reply=literal", "--reply-timeout=30000", "--dest=" + to, "/org/freedesktop/DBus", method, *arguments],
                  env=environment)
    ask("names", "org.freedesktop.DBus.ListActivatableNames")
    for _ in range(3):
        ask("an owner", "org.freedesktop.DBus.NameHasOwner", "string:org.example.Nobody")
    if user:
        stage.steps_aside = True
    else:
        stage.watch(master)
    for name in ("Fails", "Missing", "Says", "Dies"):
        ask("a service that " + name.lower(), "org.example.Do", to="org.example." + name)
    with open(stage.folder + "/said", encoding="utf-8") as file:
        stage.say("a service's environment", *file.read().split())
    stage.file("services/org.example.Later.service", "[D-BUS Service]\nName=org.example.Later\nExec=/bin/false\n")
    os.kill(master, signal.SIGHUP)
    wait_for(lambda: "Later" in subprocess.run([send, "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus",
                                                "org.freedesktop.DBus.ListActivatableNames"], env=environment, capture_output=True, text=True,
                                               check=False).stdout, "names after a reload")
    ask("names after a reload", "org.freedesktop.DBus.ListActivatableNames")
    stage.say("children", len(children_of(master)))
    with open(f"/proc/{master}/status", encoding="utf-8") as file:
        stage.say("rights", *[line.split() for line in file if line.startswith(("Uid", "Gid", "Groups", "CapEff", "CapPrm", "SigIgn"))])
    stage.end("end", process)
    stage.log("log", stage.folder + "/out", drop="uid=|Reloaded configuration", pid=r"(?<=pid=)\d+|:\d+\.\d+|(?<=dbus-daemon\[)\d+")


def dbus_system(stage):
    """It gives up its rights but for one capability: the recorder steps aside (docs/SANDBOXES.md)."""
    dbus(stage, "<user>nobody</user>")


FAMILIES = {"sshd": sshd, "cron": cron_reboot, "cron_minutes": cron_minutes, "dbus": dbus, "dbus_system": dbus_system}
LONG = {"cron_minutes"}  # wait for the clock
