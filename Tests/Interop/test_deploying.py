"""The files for deployment, read by the tools of others. No case builds or starts a program."""

import configparser
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys

import jsonschema_rs
import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Only the package's copy of the schema is used: the package is located and not imported.
SCHEMAS = pathlib.Path(importlib.util.find_spec("check_jsonschema").origin).parent / "builtin_schemas/vendor"


def settings():
    """The names of all settings, without their prefix."""
    page = (ROOT / "docs/operations.md").read_text()
    return set(re.findall(r"^\| `CARILLON_([A-Z_]+)` \|", page, re.MULTILINE))


FILES = ["docker-compose.yml", "docker-compose.demo.yml"]


def compose(file):
    return yaml.safe_load((ROOT / file).read_text())


@pytest.mark.parametrize("file", FILES)
def test_compose_file_fits_the_schema(file):
    schema = json.loads((SCHEMAS / "compose-spec.json").read_text())
    faults = jsonschema_rs.validator_for(schema).iter_errors(compose(file))
    assert [(list(fault.instance_path), fault.message) for fault in faults] == []


@pytest.mark.parametrize("file", FILES)
def test_compose_file_names_settings_that_exist(file):
    names = compose(file)["services"]["gateway"]["environment"]
    assert len(settings()) > 20
    assert {name.removeprefix("CARILLON_") for name in names} <= settings()


def test_compose_file_for_real_use_has_no_stand_in():
    services = compose("docker-compose.yml")["services"]
    assert set(services) == {"gateway", "database"}
    assert not [name for name in services["gateway"]["environment"] if name.endswith("_URL") and "DATABASE" not in name]


def test_compose_file_calls_the_stand_ins_as_they_are_called():
    services = compose("docker-compose.demo.yml")["services"]
    command = services["providers"]["command"]
    flags = dict(zip(command[1::2], command[2::2]))
    environment = services["gateway"]["environment"]
    for name, port in [("APNS_PRODUCTION", "port"), ("APNS_SANDBOX", "sandbox-port"), ("FCM", "fcm-port")]:
        assert environment[f"CARILLON_{name}_URL"] == f"https://{flags['--host']}:{flags['--' + port]}"
    assert flags["--host"] in services
    assert environment["CARILLON_PROVIDER_CA_FILE"] == flags["--identity-dir"] + "/ca.pem"


def test_dockerfile_has_no_known_fault():
    hadolint = pathlib.Path(sys.executable).parent / "hadolint"
    done = subprocess.run(
        [hadolint, "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_dockerfile_copies_all_that_the_build_reads():
    """The names that the package uses, and the targets of its links."""
    lines = re.findall(r"^COPY ((?!--).*) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    copied = {name for line in lines for name in line.split()}
    # scripts/package puts the pages into the package.
    needed = {"Package.swift", "Sources", "Tests", "scripts", "docs", "README.md", "CHANGELOG.md", "LICENSE"}
    needed |= {match.split("/")[0] for match in re.findall(r'path: "([^"]+)"', (ROOT / "Package.swift").read_text())}
    for link in (path for path in (ROOT / "Sources").rglob("*") if path.is_symlink()):
        needed.add(link.resolve().relative_to(ROOT).parts[0])
    assert copied == needed


def test_crashes_leave_no_memory_behind():
    """Swift's report of a crash shows registers and memory, and a core dump holds every secret."""
    unit = (ROOT / "scripts/systemd/carillon.service").read_text().splitlines()
    assert {"LimitCORE=0", "Environment=SWIFT_BACKTRACE=enable=no"} <= set(unit)
    image = (ROOT / "Dockerfile").read_text().splitlines()
    assert "ENV SWIFT_BACKTRACE=enable=no" in image[image.index("USER 10001:10001"):]


def test_unit_file():
    path = ROOT / "scripts/systemd/carillon.service"
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str
    unit.read(path)
    # Only the program receives SIGTERM; it stops its own PostgreSQL after the drain.
    assert unit["Service"]["KillMode"] == "mixed"
    assert unit["Service"]["ExecStart"].endswith("carillon serve")
    names = [
        line.partition("=")[2].partition("=")[0]
        for line in path.read_text().splitlines() if line.startswith("Environment=CARILLON_")]
    assert {name.removeprefix("CARILLON_") for name in names} <= settings()
    # If systemd is installed, it reads the file too. The program itself is installed elsewhere, later.
    if not shutil.which("systemd-analyze"):
        return
    done = subprocess.run(
        ["systemd-analyze", "verify", path], capture_output=True, text=True, timeout=60, check=False)
    complaints = [line for line in done.stderr.splitlines() if "is not executable" not in line]
    assert [line for line in complaints if "carillon.service" in line] == []
