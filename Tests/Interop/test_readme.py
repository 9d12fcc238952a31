"""The commands of the README, of campaigns.md and of deploy.md, pasted in order, print what the page says.

What stands in a block of `bash` is run, block after block in one shell; the block of `text` behind it is what it prints,
where `...` stands for anything.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import pytest
from support import PROGRAM, SEARCH_PATH, Gateway, RunEvidence, folder, free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARK = "--- carillon has printed this ---"


def section(title, page="README.md"):
    text = (ROOT / page).read_text()
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(text):
    """(command, expected) of a text; expected is None if the page shows no output."""
    found = []
    for language, body in re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if language == "bash":
            found.append([body, None])
        elif language == "text":
            assert found[-1][1] is None
            found[-1][1] = body
    return found


class Shell:
    """A terminal in which each block ends before the next one is pasted."""

    def __init__(self, place, **environment):
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env={"HOME": str(place), "LC_ALL": "C.UTF-8", "TERM": "dumb", **environment})

    def paste(self, command):
        """The status of the last line, and the output."""
        # It is on its own line, even if the last line has no newline.
        self.process.stdin.write(f"{command}\nprintf '\\n%s %d\\n' '{MARK}' $?\n")
        self.process.stdin.flush()
        printed = []
        for line in self.process.stdout:
            if line.startswith(MARK):
                return int(line.split()[-1]), "".join(printed)
            printed.append(line)
        raise AssertionError(f"the shell ended: {''.join(printed)}")

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait(timeout=60)


@pytest.fixture
def shell():
    made = []

    def make(place, **environment):
        made.append(Shell(place, PATH=f"{pathlib.Path(PROGRAM).parent}:{SEARCH_PATH}", **environment))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def place():
    path = folder("readme")
    yield path
    RunEvidence.keep(path)
    shutil.rmtree(path)


def holds(expected, printed):
    """Whether the text matches. `...` matches anything, also several lines."""
    pattern = ".*".join(re.escape(part) for part in expected.strip().split("..."))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def walk(terminal, text, adapt, passed_by=None):
    """Pastes the blocks of a text, except those that contain `passed_by`."""
    walked = 0
    for command, expected in blocks(text):
        if passed_by is not None and passed_by in command:
            continue
        status, printed = terminal.paste(adapt(command))
        assert status == 0, f"{command}ended with {status}: {printed}"
        if expected is not None:
            assert holds(expected, printed), f"{command}printed:\n{printed}\nand not:\n{expected}"
            walked += 1
    return walked


def test_expected_text_can_differ():
    assert holds("a...b\nc", "a 1\n2 b\nc\n")
    assert not holds("a...b\nc", "a 1\n2 b\nd\n")


@contextlib.contextmanager
def demonstration(place):
    """The demonstration that a page begins with. Gives what adapts the page's commands to its folder.

    Another program has the demonstration's port, as the package's service does.
    """
    other = socket.socket()
    with contextlib.suppress(OSError):
        other.bind(("127.0.0.1", 8080))
        other.listen()
    demo = subprocess.Popen(
        [PROGRAM, "demo", "--folder", str(place)], cwd=place, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env={"PATH": SEARCH_PATH})
    try:
        said = []
        for line in demo.stdout:
            said.append(line)
            if "Ctrl-C" in line:
                break
        text = "".join(said)
        assert "It adds up" in text, text
        base = re.search(r"gateway +(http://\S+)", text).group(1)
        assert (place / "address").read_text() == base + "\n"
        yield lambda command: command.replace("/tmp/carillon-demo-$(id -un)", str(place))
    finally:
        demo.terminate()
        demo.stdout.read()
        demo.wait(timeout=60)
        other.close()
    assert not (place / "address").exists()


def test_the_tour(shell, place):
    with demonstration(place) as adapt:
        tour = section("A tour of five minutes")
        assert walk(shell(ROOT), tour, adapt) >= 6
        # A second tour gives the same output, except for the list, which also shows newer devices.
        assert walk(shell(ROOT), tour, adapt, passed_by="devices list") >= 5


def test_campaign(shell, place):
    """A campaign in three languages, from its text to its account, by commands alone."""
    with demonstration(place) as adapt:
        assert walk(shell(place), (ROOT / "docs/campaigns.md").read_text(), adapt) >= 10


def test_for_real(shell, place, stand_in):
    """The commands work with keys and addresses of the simulators instead of Apple's and Google's, to the push."""
    told = stand_in.told
    shutil.copy(told["apns_key_file"], place / "AuthKey_ABCDE12345.p8")
    shutil.copy(told["fcm_service_account_file"], place / "firebase.json")
    token = "5eed" * 16
    (place / "token.txt").write_text(token + "\n")
    port = free_port()
    terminal = shell(
        place, CARILLON_LISTEN=f"127.0.0.1:{port}", CARILLON_URL=f"http://127.0.0.1:{port}",
        CARILLON_APNS_PRODUCTION_URL=told["apns_production_url"], CARILLON_APNS_SANDBOX_URL=told["apns_sandbox_url"],
        CARILLON_FCM_URL=told["fcm_url"], CARILLON_PROVIDER_CA_FILE=told["ca_file"],
        CARILLON_ALLOW_PRIVATE_TARGETS="true")

    def adapt(command):
        # The program is built and found already. The key has the simulator's ids.
        lines = [
            line for line in command.replace("127.0.0.1:8080", f"127.0.0.1:{port}").splitlines()
            if not line.startswith("export PATH")]
        return "\n".join(lines).replace("--team-id TEAMID1234", f"--team-id {told['apns_team_id']}").replace(
            "AuthKey_ABCDE12345.p8 ", f"AuthKey_ABCDE12345.p8 --key-id {told['apns_key_id']} ")

    walk(terminal, section("For real"), adapt)
    [push] = stand_in.received(stand_in.apns, token)
    assert push["payload"]["aps"]["alert"] == {"title": "Hello", "body": "World"}
    status, printed = terminal.paste("carillon credentials list --app garden --json")
    states = [(one["provider"], one["state"]) for one in json.loads(printed)["items"]]
    assert status == 0 and sorted(states) == [("apns", "active"), ("apns", "active"), ("fcm", "active")]


def test_containers(shell, place, stand_in):
    """The commands that run in the container, with the settings that docker-compose.demo.yml gives it."""
    told = stand_in.told
    gateway = Gateway(FCM_URL=told["fcm_url"], PROVIDER_CA_FILE=told["ca_file"])
    try:
        terminal = shell(place, CARILLON_ADMIN_KEY=gateway.KEY, CARILLON_URL=gateway.url)
        [[commands, _]] = blocks(section("With containers", "docs/operations/deploy.md"))
        status, printed = terminal.paste("set -e\n" + re.sub(r"\$compose (exec (-T )?gateway|up .*)", "", commands).replace(
            "/stand-in/fcm-service-account.json", told["fcm_service_account_file"]))
        assert status == 0, printed
        [push] = stand_in.received(stand_in.fcm, "a-token-of-firebase")
        assert push["payload"]["message"]["notification"] == {"title": "Hello", "body": "World"}
    finally:
        gateway.stop()
