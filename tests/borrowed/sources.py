# SPDX-License-Identifier: Apache-2.0
"""sources.py - Debian's source packages, by an apt configuration of our own: the machine's stays as it is.

Sources come from the main archive: the one of security updates forgets what it has replaced, and no suite needs the very
version that is installed."""
import pathlib
import subprocess


def read(argv, **more):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def version_of(package):
    """Of an installed package; "" when it is not."""
    answer = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.DEVNULL, check=False)
    return answer.stdout if answer.returncode == 0 else ""


class Archive:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.is_fresh = False
        release = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
        self.suite = release.get("VERSION_CODENAME", "").strip('"')

    def options(self):
        own = self.folder / "apt"
        return ["-o", f"Dir::Etc::sourcelist={own}/sources.list", "-o", "Dir::Etc::sourceparts=-",
                "-o", f"Dir::State::lists={own}/lists", "-o", f"Dir::Cache={own}/cache", "-o", "APT::Sandbox::User=root",
                "-q"]

    def refresh(self):
        """Lists of our own. The mirror is the machine's."""
        if self.is_fresh:
            return
        own = self.folder / "apt"
        for name in ("lists/partial", "cache/archives/partial"):
            (own / name).mkdir(parents=True, exist_ok=True)
        lines = []
        for line in read(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT) $(CREATED_BY)"]).splitlines():
            words = line.split()
            if words[1:] == [self.suite, "main", "Packages"] and "security" not in words[0]:
                for kind in ("deb", "deb-src"):
                    lines.append(f"{kind} [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {words[0]} {self.suite} main\n")
        if not lines:
            raise RuntimeError("this machine's apt names no archive of Debian")
        (own / "sources.list").write_text("".join(dict.fromkeys(lines)))
        subprocess.run(["apt-get", *self.options(), "update"], check=True, stdout=subprocess.DEVNULL)
        self.is_fresh = True

    def source(self, package, folder):
        """Unpack the source of `package` below `folder`, once. Returns the folder that dpkg-source made."""
        folder = pathlib.Path(folder)
        found = sorted(path for path in folder.glob("*/debian/changelog"))
        if not found:
            self.refresh()
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(["apt-get", *self.options(), "source", "--only-source", package], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL)
            found = sorted(path for path in folder.glob("*/debian/changelog"))
        return found[0].parent.parent

    def unpack(self, package, folder):
        """The files of a binary package below `folder`, uninstalled: for what must not replace what the machine has."""
        folder = pathlib.Path(folder)
        self.refresh()
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", *self.options(), "download", f"{package}/{self.suite}"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for archive in sorted(folder.glob(f"{package}_*.deb")):
            subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
