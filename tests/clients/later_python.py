"""Python 3.14, for clients that need one: the machine's own, or Debian's, unpacked into the cache and run from there.

Debian's packages are fetched by apt with lists, settings and a state of its own, which checks their signatures against
Debian's keyring; of the system only that keyring is read, and nothing is changed. What is unpacked runs through the
loader and the C library that came with it, so that an older system serves as well.
"""

from __future__ import annotations

import shlex
import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from interop.agents import InstallFailed, LiveAgent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RELEASE = "forky"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True)
class DebianPython(LiveAgent):
    """Its folder holds `usr/bin/python3.14`."""

    def _commands(self) -> Iterator[Sequence[str]]:
        if not (shutil.which("apt-get") and shutil.which("dpkg-deb") and KEYRING.exists()):
            raise InstallFailed(
                "There is no python3.14 on PATH, and Debian's can be had only where apt-get, dpkg-deb and "
                f"{KEYRING} are. Install Python 3.14, then the tests again."
            )
        apt = self.folder / "apt"
        of_its_own = ["/usr/bin/env", f"APT_CONFIG={_settings(apt)}", "apt-get", "-qq"]
        yield [*of_its_own, "-o", "APT::Update::Error-Mode=any", "update"]
        yield [*of_its_own, "install", "--yes", "--download-only", "--no-install-recommends", *self.packages]
        for package in sorted(apt.glob("var/cache/apt/archives/*.deb")):
            yield ["dpkg-deb", "--extract", str(package), str(self.folder)]
        shutil.rmtree(apt)
        _run_by_its_own_loader(self.folder / "usr")


def _settings(apt: Path) -> Path:
    """The file that makes apt keep to this folder, and to one release. Nothing counts as installed there, so that
    whatever is needed is fetched, the C library included."""
    for folder in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "var/lib/apt/lists", "var/cache/apt/archives"):
        (apt / folder / "partial").mkdir(parents=True)
    (apt / "status").touch()
    # A mirror that stands still serves an old list: it is signed all the same, and none of it is installed.
    source = f"deb [signed-by={KEYRING} check-valid-until=no] http://deb.debian.org/debian {RELEASE} main\n"
    (apt / "etc/apt/sources.list").write_text(source)
    settings = apt / "apt.conf"
    settings.write_text(
        textwrap.dedent(f"""\
            Dir "{apt}/";
            Dir::State::status "{apt}/status";
            APT::Sandbox::User "root";
            Acquire::Languages "none";
            """)
    )
    return settings


def _run_by_its_own_loader(prefix: Path) -> None:
    """Put a script in the program's place. By its name in `--argv0` the interpreter finds its library, and needs no
    variable that programs which it starts would inherit."""
    program = prefix / "bin" / "python3.14"
    [loader] = prefix.glob("lib/*-linux-gnu*/ld-linux*.so.*")
    program.rename(real := prefix / "bin" / "python3.14-itself")
    start = [loader, "--argv0", program, "--library-path", loader.parent, real]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, start))} "$@"\n')
    program.chmod(0o755)


DEBIAN = DebianPython("python", "Python 3.14", f"3.14-{RELEASE}", "apt", ("python3.14",), lambda *_: ((), {}))


def python314() -> str:
    """The program. Where none can be had the test is skipped, in continuous integration as well."""
    try:
        return shutil.which("python3.14") or str(DEBIAN.install() / "usr" / "bin" / "python3.14")
    except InstallFailed as failed:
        pytest.skip(str(failed))
