"""The README's promise to an existing project: the wheel, the snippets verbatim, one delivery."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from notifications.testing.provider import FakeProvider
from notifications.testing.provider.letters import read_letter

pytestmark = pytest.mark.acceptance

ROOT = Path(__file__).resolve().parents[2]
COMMAND_SECONDS = 120.0
SNIPPET = "<!-- snippet:{} -->\n```python\n(.*?)```"
# What the README leaves to the reader's own settings: where the mail server is.
MAIL_SERVER = 'EMAIL_HOST, EMAIL_PORT = "127.0.0.1", {port}\n'
ASK_FOR_A_RESET = """
import django
django.setup()
from django.contrib.auth import get_user_model
from django.test import Client
from shop import urls, views

get_user_model().objects.create_user("ada", "ada@example.com", "correct horse battery staple")
page = next(page for page in urls.urlpatterns if getattr(page.callback, "__module__", "") == views.__name__)
answer = Client(headers={"host": "127.0.0.1"}).post(f"/{page.pattern}", {"email": "ada@example.com"})
assert answer.status_code in (200, 302), answer.status_code
"""
OPEN_THE_LINK = """
import sys
import django
django.setup()
from django.test import Client

answer = Client(headers={"host": "127.0.0.1"}).get(sys.argv[1], follow=True)
assert "new_password1" in answer.content.decode(), answer.status_code
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    run(build, folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """A new environment with the wheel, and of this one the dependencies only: the checkout is not in it."""
    folder = tmp_path_factory.mktemp("environment")
    run([sys.executable, "-m", "venv", "--without-pip", str(folder)], folder)
    interpreter = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(interpreter), "--disable-pip-version-check"]
    run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], folder)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return interpreter


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[FakeProvider]:
    with FakeProvider(store=tmp_path / "inbox.sqlite3") as provider:
        yield provider


@pytest.fixture
def project(tmp_path: Path, python: Path, provider: FakeProvider) -> Path:
    """What `startproject` makes, with the README's snippets added as they stand there."""
    folder = tmp_path / "project"
    folder.mkdir()
    run([str(python), "-m", "django", "startproject", "shop", "."], folder)
    mail_server = MAIL_SERVER.format(port=provider.smtp_port)
    for name, addition in {"settings.py": mail_server, "urls.py": "", "views.py": ""}.items():
        with (folder / "shop" / name).open("a") as file:
            file.write(f"\n{snippet(name)}{addition}")
    return folder


def snippet(name: str) -> str:
    """The README's block for a file of the reader's project."""
    found = re.search(SNIPPET.format(re.escape(name)), (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None, f"README.md has no block marked snippet:{name}"
    return found[1]


def run(command: list[str], folder: Path, **variables: str) -> str:
    """The output of a command in a shell that knows nothing of this checkout."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment, "LANG": "C.UTF-8", **variables},
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command[1:4]}:\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def test_the_wheel_holds_the_two_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"notifications", "resetdelivery"}


@pytest.mark.parametrize("ending", [".py", ".txt", ".html"])
def test_the_wheel_holds_every_file_of_the_two_packages(wheel: Path, ending: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.endswith(ending) and ".dist-info" not in name}
    files = [
        file
        for package in ("notifications", "resetdelivery")
        for file in (ROOT / package).rglob(f"*{ending}")
    ]
    assert packed == {str(file.relative_to(ROOT)) for file in files}


def test_the_new_environment_takes_the_package_from_the_wheel(python: Path, tmp_path: Path) -> None:
    where = run([str(python), "-c", "import resetdelivery; print(resetdelivery.__file__)"], tmp_path)
    assert where.startswith(str(python.parents[1]))


def test_the_readmes_snippets_pass_djangos_checks_and_need_no_migration(python: Path, project: Path) -> None:
    manage = [str(python), "manage.py"]
    assert "no issues" in run([*manage, "check", "--fail-level", "ERROR"], project)
    assert "No changes detected" in run([*manage, "makemigrations", "--check", "--dry-run"], project)


def test_the_readmes_snippets_deliver_a_reset_whose_link_opens_the_password_page(
    python: Path, project: Path, provider: FakeProvider
) -> None:
    run([str(python), "manage.py", "migrate"], project)
    django = {"DJANGO_SETTINGS_MODULE": "shop.settings"}
    run([str(python), "-c", ASK_FOR_A_RESET], project, **django)
    run([str(python), "manage.py", "run_poller", "--once"], project)
    (email,) = provider.store.list("email")
    link = re.search(r"http://127\.0\.0\.1:8000(/\S+)", read_letter(email).text)
    assert link is not None
    run([str(python), "-c", OPEN_THE_LINK, link[1]], project, **django)
