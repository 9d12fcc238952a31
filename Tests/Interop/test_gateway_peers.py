"""The gateway sends to servers by others: Node's http2 as APNs and as FCM, and nghttpd."""

import json
import re
import shutil
import socket

import pytest
from identities import account_key, private_pem, public_pem, server_identity, signing_key
from support import INTEROP, Gateway, Program, RunEvidence, folder, free_port

TOPIC = "com.example.garden"
PROJECT = "garden-1234"
EMAIL = "pusher@garden-1234.iam.gserviceaccount.com"
MESSAGE = {"audience": {"all": True}, "notification": {"title": "Carillon", "body": "Midi à Évreux"}}


class House:
    """Three peers around one gateway: Node as APNs and as FCM, nghttpd as APNs' sandbox."""

    def __init__(self):
        self.place = folder("peers")
        self.programs = []
        server_identity(self.place)
        self.provider_key, self.account_key = signing_key(), account_key()
        (self.place / "provider.pub").write_text(public_pem(self.provider_key))
        (self.place / "account.pub").write_text(public_pem(self.account_key))
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self):
        apns = self.node("apns_peer.mjs", "--verify", self.path("provider.pub"))
        fcm = self.node(
            "fcm_peer.mjs", "--verify", self.path("account.pub"), "--account", EMAIL, "--key-id", "key-of-garden",
            "--project", PROJECT)
        self.fcm_url = f"https://localhost:{fcm}"
        self.nghttpd, sandbox = self.echo()
        self.gateway = Gateway(
            APNS_PRODUCTION_URL=f"https://localhost:{apns}", APNS_SANDBOX_URL=f"https://localhost:{sandbox}",
            FCM_URL=self.fcm_url, PROVIDER_CA_FILE=self.path("ca.pem"))
        self.programs.append(self.gateway)

    def path(self, name):
        return str(self.place / name)

    def node(self, script, *flags):
        """Its port."""
        home = self.place / script.removesuffix(".mjs")
        home.mkdir()
        peer = Program([
            "node", str(INTEROP / script), "--cert", self.path("server.pem"), "--key", self.path("server.key"),
            "--log", str(home / "log.ndjson"), *flags], home)
        self.programs.append(peer)
        return json.loads(peer.line("{"))["port"]

    def echo(self):
        """nghttpd answers every POST with 200 and its own body, and prints the requests."""
        home = self.place / "nghttpd"
        home.mkdir()
        port = free_port()
        peer = Program([
            "nghttpd", "--echo-upload", "-v", "-a", "127.0.0.1", "-d", str(home), str(port), self.path("server.key"),
            self.path("server.pem")], home)
        self.programs.append(peer)

        def answers():
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return True
            except OSError:
                return False
        peer.wait_for("nghttpd's port", answers)
        return peer, port

    def log(self, script):
        lines = (self.place / script / "log.ndjson").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def stop(self):
        for program in reversed(self.programs):
            program.stop()
        RunEvidence.keep(self.place)
        shutil.rmtree(self.place, ignore_errors=True)

    def app(self, slug, *environments):
        self.gateway.make_app(slug)
        for environment in environments:
            self.gateway.hand_in(slug, {
                "provider": "apns", "kind": "token", "environment": environment, "key_id": "ABCDE12345",
                "team_id": "TEAMID1234", "topics": [TOPIC], "p8": private_pem(self.provider_key)})
        return slug

    def fcm_app(self, slug):
        self.gateway.make_app(slug)
        self.gateway.hand_in(slug, {"provider": "fcm", "kind": "service_account", "service_account": {
            "type": "service_account", "project_id": PROJECT, "private_key_id": "key-of-garden",
            "private_key": private_pem(self.account_key), "client_email": EMAIL,
            "token_uri": self.fcm_url + "/token"}})
        return slug

    def register(self, slug, name, **registration):
        self.gateway.api.expect(201, "PUT", f"/v1/apps/{slug}/devices/{name}", registration)

    def feed(self, slug):
        items = self.gateway.api.expect(200, "GET", f"/v1/apps/{slug}/feedback")["items"]
        return [(item["installation"], item["verdict"], item["reason"]) for item in items]


@pytest.fixture(scope="module")
def house():
    house = House()
    yield house
    house.stop()


def outcomes(account):
    return {name: count for name, count in account["outcomes"].items() if count}


def test_a_push_to_nodes_http_2_server_as_apns(house):
    slug = house.app("garden", "production")
    house.register(slug, "phone", provider="apns", token="a0" * 32)
    house.register(slug, "old-phone", provider="apns", token="dead" + "00" * 30)
    account = house.gateway.finished(slug, house.gateway.send(slug, {**MESSAGE, "badge": "increment"}))
    assert (account["audience"], outcomes(account)) == (2, {"accepted": 1, "unregistered": 1})
    seen = {line["token"]: line for line in house.log("apns_peer")}
    assert set(seen) == {"a0" * 32, "dead" + "00" * 30}
    phone = seen["a0" * 32]
    assert (phone["status"], phone["topic"], phone["pushType"], phone["badge"]) == (200, TOPIC, "alert", 1)
    story = house.gateway.api.expect(200, "GET", f"/v1/apps/{slug}/messages/{account['id']}/devices/phone")
    assert phone["id"] == story["push_id"]
    assert house.feed(slug) == [("old-phone", "retired", "Unregistered")]


def test_a_push_to_nodes_http_2_server_as_fcm(house):
    slug = house.fcm_app("orchard")
    house.register(slug, "tablet", provider="fcm", token="tablet:APA91b-1")
    house.register(slug, "old-tablet", provider="fcm", token="gone:APA91b-2")
    house.register(slug, "busy-tablet", provider="fcm", token="busy:APA91b-3")
    account = house.gateway.finished(slug, house.gateway.send(slug, {**MESSAGE, "data": {"article": 42}}))
    assert (account["audience"], outcomes(account)) == (3, {"accepted": 2, "unregistered": 1})
    lines = house.log("fcm_peer")
    (claimed,) = [line["claims"] for line in lines if "claims" in line]
    assert (claimed["iss"], claimed["aud"]) == (EMAIL, house.fcm_url + "/token")
    sent = [line for line in lines if line.get("headers", {}).get(":path") == f"/v1/projects/{PROJECT}/messages:send"]
    answers = sorted((json.loads(line["body"])["message"]["token"], line["status"]) for line in sent)
    assert answers == [
        ("busy:APA91b-3", 200), ("busy:APA91b-3", 503), ("gone:APA91b-2", 404), ("tablet:APA91b-1", 200)]
    assert {line["version"] for line in sent} == {"2.0"}
    (message,) = [one for one in (json.loads(line["body"])["message"] for line in sent) if one["token"][0] == "t"]
    assert message["notification"] == MESSAGE["notification"]
    assert message["data"]["article"] == "42"
    assert house.feed(slug) == [("old-tablet", "retired", "UNREGISTERED")]


def test_a_push_to_nghttpd(house):
    slug = house.app("meadow", "sandbox")
    house.register(slug, "phone", provider="apns", environment="sandbox", token="b0" * 32)
    account = house.gateway.finished(slug, house.gateway.send(slug, MESSAGE))
    assert (account["audience"], outcomes(account)) == (1, {"accepted": 1})
    log = re.sub(r"\x1b\[[0-9;]*m", "", house.nghttpd.output.read_text(errors="replace"))
    assert len(re.findall(r":path: /3/device/" + "b0" * 32, log)) == 1
    for header in (":method: POST", ":scheme: https", f"apns-topic: {TOPIC}", "apns-push-type: alert"):
        assert header in log, log
