"""The Debian package, installed into a fresh root without a compiler, sends a push to the simulators there."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from support import PROGRAM, ROOT, SEARCH_PATH, folder

# A mirror and a package manager are slow on a loaded machine.
INSTALL_SECONDS_MAX = 900
# The size of the program, stripped, with Swift's libraries in it.
PROGRAM_BYTES_MAX = 90_000_000


def run(*command, seconds=INSTALL_SECONDS_MAX):
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False,
        env={"PATH": SEARCH_PATH, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"})
    assert done.returncode == 0, f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stdout[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def package():
    return pathlib.Path(run(ROOT / "scripts/package").splitlines()[-2])


@pytest.fixture(scope="module")
def fresh_root():
    """A Debian with its essential packages alone, from the mirror that this machine uses."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a fresh root with debootstrap")
    repositories = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)").splitlines()
    mirror = next((line.split()[0] for line in repositories if line.endswith(" bookworm")), None)
    if mirror is None:
        pytest.skip("this machine's package manager names no mirror of Debian 12")
    place = folder("root")
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", "bookworm", place, mirror], capture_output=True, text=True,
        timeout=INSTALL_SECONDS_MAX, env={"PATH": SEARCH_PATH}, check=False)
    if made.returncode != 0:
        shutil.rmtree(place)
        pytest.skip(f"debootstrap can't make a fresh root from the mirror: {made.stdout.strip().splitlines()[-1:]}")
    run("mount", "-t", "proc", "proc", place / "proc")
    try:
        yield place
    finally:
        run("umount", "--lazy", place / "proc")
        shutil.rmtree(place)


def test_man_page_names_every_command():
    page = (ROOT / "scripts/debian/carillon.1").read_text()
    shown = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    commands = re.findall(r"^  ([a-z]+) ", shown.split("SUBCOMMANDS:", 1)[-1], re.MULTILINE)
    assert len(commands) > 10
    assert set(re.findall(r"^\.B ([a-z]+)$", page, re.MULTILINE)) >= set(commands) - {"help"}


def test_package_sends_a_push_where_there_is_no_swift(package, fresh_root, record_property):
    shutil.copy(package, fresh_root / "carillon.deb")
    (fresh_root / "etc/apt/sources.list").unlink()
    for name in ["sources.list", "sources.list.d", "apt.conf.d"]:
        source, target = pathlib.Path("/etc/apt") / name, fresh_root / "etc/apt" / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy(source, target)
    run("chroot", fresh_root, "apt-get", "update", "-q")
    run("chroot", fresh_root, "apt-get", "install", "-y", "-q", "/carillon.deb")
    program = fresh_root / "usr/bin/carillon"
    record_property("figures", {"bytes of the program": program.stat().st_size})
    assert program.stat().st_size <= PROGRAM_BYTES_MAX
    assert "not found" not in run("chroot", fresh_root, "ldd", "/usr/bin/carillon")
    assert not list(fresh_root.glob("usr/lib/**/libswiftCore.so"))
    # Its service's user, its page and its completion are in their places.
    run("chroot", fresh_root, "id", "carillon")
    for file in ["lib/systemd/system/carillon.service", "usr/share/man/man1/carillon.1.gz",
                 "usr/share/bash-completion/completions/carillon", "etc/carillon/settings.env"]:
        assert (fresh_root / file).exists(), file
    said = run("chroot", fresh_root, "carillon", "demo", "--once", "--folder", "/srv/demo")
    assert "It adds up" in said, said
    # Commands find the service, here started by hand, and its key.
    serve = ["chroot", fresh_root, "env", "CARILLON_DATA_DIR=/var/lib/carillon", "CARILLON_LISTEN=127.0.0.1:0"]
    service = subprocess.Popen([*serve, "carillon", "serve"], stdout=subprocess.PIPE, text=True)
    try:
        url = next(line.split()[-1] for line in service.stdout if line.startswith("carillon is ready on "))
        made = run("chroot", fresh_root, "carillon", "apps", "create", "weather", "--name", "Weather", "--url", url)
        assert "weather" in made, made
    finally:
        service.terminate()
        service.stdout.read()
        service.wait(timeout=60)
