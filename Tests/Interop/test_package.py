"""The Debian package, installed into a fresh root without a compiler, sends a push to the simulators there."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from support import PROGRAM, ROOT, SEARCH_PATH, folder, free_port

# Making the package and installing it, too, take minutes there.
pytestmark = pytest.mark.timeout(1200)
# A mirror and a package manager are slow on a loaded machine.
INSTALL_SECONDS_MAX = 900
# The size of the program, stripped, with Swift's libraries in it.
PROGRAM_BYTES_MAX = 100_000_000


def run(*command, seconds=INSTALL_SECONDS_MAX, status=0):
    """The output of a command that ends with this status; None: any."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False,
        env={"PATH": SEARCH_PATH, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"})
    words = " ".join(map(str, command))
    assert status in (None, done.returncode), f"{words} ended with {done.returncode}: {done.stdout[-3000:]}"
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


@pytest.fixture(scope="module")
def installed_root(package, fresh_root):
    """The fresh root with the package in it."""
    shutil.copy(package, fresh_root / "carillon.deb")
    (fresh_root / "etc/apt/sources.list").unlink()
    for name in ["sources.list", "sources.list.d", "apt.conf.d"]:
        source, target = pathlib.Path("/etc/apt") / name, fresh_root / "etc/apt" / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy(source, target)
    run("chroot", fresh_root, "apt-get", "update", "-q")
    run("chroot", fresh_root, "apt-get", "install", "-y", "-q", "--no-install-recommends", "/carillon.deb", "postgresql")
    return fresh_root


def test_installation_brings_nothing_that_nobody_asked_for(installed_root):
    installed = run("chroot", installed_root, "dpkg-query", "--show", "--showformat", "${Package}\\n").split()
    assert not {"cron", "exim4-base", "sysstat", "logrotate"} & set(installed)
    assert not (installed_root / "etc/postgresql/15/main").exists(), "the gateway keeps a cluster of its own"


def test_man_page_names_every_command():
    page = (ROOT / "scripts/debian/carillon.1").read_text()
    shown = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    commands = re.findall(r"^  ([a-z]+) ", shown.split("SUBCOMMANDS:", 1)[-1], re.MULTILINE)
    assert len(commands) > 10
    assert set(re.findall(r"^\.B ([a-z]+)$", page, re.MULTILINE)) >= set(commands) - {"help"}


def check_changed_settings(root):
    """Root's commands find the service at the address and by the certificate that its settings name."""
    port, folder_of_keys = free_port(), root / "etc/carillon"
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
        "-subj", "/CN=push", "-addext", "subjectAltName=DNS:push.example.com",
        "-keyout", folder_of_keys / "key.pem", "-out", folder_of_keys / "chain.pem")
    settings = folder_of_keys / "settings.env"
    before = settings.read_text()
    given = {"LISTEN": f"127.0.0.1:{port}", "TLS_CERTIFICATE": "/etc/carillon/chain.pem", "TLS_KEY": "/etc/carillon/key.pem"}
    settings.write_text("".join(f"CARILLON_{name}={value}\n" for name, value in given.items()))
    variables = [f"CARILLON_{name}={value}" for name, value in given.items()]
    service = subprocess.Popen(
        ["chroot", root, "env", "CARILLON_DATA_DIR=/var/lib/carillon", *variables, "carillon", "serve"],
        stdout=subprocess.PIPE, text=True)
    try:
        next(line for line in service.stdout if line.startswith("carillon is ready on "))
        assert "weather" in run("chroot", root, "carillon", "apps", "list")
        listed = run("chroot", root, "carillon", "settings")
        assert f"127.0.0.1:{port}  [/etc/carillon/settings.env]" in listed, listed
        assert "systemctl restart carillon" in run("chroot", root, "carillon", "migrate", status=None)
        # The page's line for a back-up.
        page = (ROOT / "docs/operations/back-up.md").read_text()
        line = next(line.strip() for line in page.splitlines() if line.strip().startswith("pg_dump"))
        run("chroot", root, "bash", "-c", f"cd /root && data=/var/lib/carillon && {line} && test -s carillon.dump")
    finally:
        service.terminate()
        service.stdout.read()
        service.wait(timeout=60)
        settings.write_text(before)


def test_package_sends_a_push_where_there_is_no_swift(installed_root, record_property):
    program = installed_root / "usr/bin/carillon"
    record_property("figures", {"bytes of the program": program.stat().st_size})
    assert program.stat().st_size <= PROGRAM_BYTES_MAX
    assert "not found" not in run("chroot", installed_root, "ldd", "/usr/bin/carillon")
    assert not list(installed_root.glob("usr/lib/**/libswiftCore.so"))
    # Its service's user, its page and its completion are in their places.
    run("chroot", installed_root, "id", "carillon")
    for file in ["lib/systemd/system/carillon.service", "usr/share/man/man1/carillon.1.gz",
                 "usr/share/bash-completion/completions/carillon", "etc/carillon/settings.env"]:
        assert (installed_root / file).exists(), file
    said = run("chroot", installed_root, "carillon", "demo", "--once", "--folder", "/srv/demo")
    assert "It adds up" in said, said
    # Commands send the service's key to its own address alone. This one is started by hand, at another.
    serve = ["chroot", installed_root, "env", "CARILLON_DATA_DIR=/var/lib/carillon", "CARILLON_LISTEN=127.0.0.1:0"]
    service = subprocess.Popen([*serve, "carillon", "serve"], stdout=subprocess.PIPE, text=True)
    try:
        url = next(line.split()[-1] for line in service.stdout if line.startswith("carillon is ready on "))
        create = ["carillon", "apps", "create", "weather", "--name", "Weather", "--url", url]
        assert f"no API key for {url}" in run("chroot", installed_root, *create, status=77)
        made = run("chroot", installed_root, *create, "--key-file", "/var/lib/carillon/admin-key")
        assert "weather" in made, made
        # The status depends on this machine's clock and network.
        said = run("chroot", installed_root, "carillon", "doctor", status=None)
        assert "/var/lib/carillon" in said and re.search("^ok +database: PostgreSQL .* answers", said, re.MULTILINE)
    finally:
        service.terminate()
        service.stdout.read()
        service.wait(timeout=60)
    check_changed_settings(installed_root)
    # Its unit closes the folder. An ordinary user is told how to get the key, and root what starts the service.
    (installed_root / "var/lib/carillon").chmod(0o700)
    said = run("chroot", "--userspec=nobody", installed_root, "carillon", "apps", "list", status=77)
    assert "sudo cat /var/lib/carillon/admin-key" in said, said
    assert "systemctl start carillon" in run("chroot", installed_root, "carillon", "doctor", status=None)


def test_package_starts_its_service_when_it_is_installed_not_upgraded(installed_root):
    """Only the calls of systemctl are checked: no systemd runs in the root."""
    calls = installed_root / "systemctl.calls"
    stub = installed_root / "usr/local/bin/systemctl"
    stub.write_text("""#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
case "$1" in
is-enabled) echo enabled ;;
is-active) exit 3 ;;
*) echo "$1" >>/systemctl.calls ;;
esac
""")
    stub.chmod(0o755)
    policy = installed_root / "usr/sbin/policy-rc.d"

    def called(*command):
        calls.write_text("")
        run("chroot", installed_root, *command)
        return [call for call in calls.read_text().split() if call != "daemon-reload"]

    install, settings = ["dpkg", "--install", "/carillon.deb"], installed_root / "etc/carillon/settings.env"
    # An image is made without a running systemd.
    assert called("dpkg", "--remove", "carillon") == ["disable"]
    assert called(*install) == ["enable"]
    (installed_root / "run/systemd/system").mkdir(parents=True, exist_ok=True)
    assert called(*install) == ["try-restart"]
    assert called("dpkg", "--remove", "carillon") == ["stop", "disable"]
    assert called(*install) == ["enable", "start"]
    # An administrator forbids starts and restarts, also those of an upgrade and a removal.
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    assert called(*install) == []
    assert called("dpkg", "--remove", "carillon") == ["disable"]
    assert called(*install) == ["enable"]
    policy.unlink()
    settings.unlink()
    assert called(*install) == ["try-restart"] and not settings.exists()
    assert called("dpkg", "--purge", "carillon") == ["stop", "disable"]
    assert called(*install) == ["enable", "start"] and settings.exists()
