"""A broadcast to 100,000 installations over APNs production, its sandbox and FCM, checked push by push.

CARILLON_BROADCAST_DEVICES (100000) says how many.
"""

import json
import os
import pathlib
import time
from datetime import datetime

import pytest
from expected_pushes import apns_body, apns_headers, fcm_body, ordered_like, written
from support import Caller, Gateway, StandIn

COUNT = int(os.environ.get("CARILLON_BROADCAST_DEVICES", "100000"))
SLUG = "garden"
TOPIC = "com.example.garden"
IMPORT_LINES = 5_000
SECONDS_MAX = 600
# Devices spell their locales in several ways; two of the locales have no text of their own.
LOCALES = [None, "en-US", "fr-CA", "fr-FR", "fr", "de_AT", "FR_ca", "ja", "pt-BR"]
MESSAGE = {
    "audience": {"tags": {"any": ["news", "bells"], "none": ["muted"]}},
    "notification": {
        "title": "Carillon", "body": "Twelve o'clock \U0001f514 \"now\"",
        "localizations": {
            "fr": {"title": "Le carillon", "body": "Midi à Évreux"}, "fr-CA": {"body": "Midi à Québec"},
            "de": {"title": "Glockenspiel"},
        },
    },
    "badge": "increment", "sound": "default", "data": {"article": "42", "place": {"row": 3}},
    "options": {"priority": "high", "ttl_seconds": 86_400},
    "apns": {"aps": {"interruption-level": "time-sensitive", "thread-id": "noon"}},
    "fcm": {"android": {"notification": {"channel_id": "news"}}},
}


def device(number):
    """A device of the audience. Its index determines all its values."""
    places = ["production"] * 5 + ["sandbox"] * 2 + ["fcm"] * 3
    place = places[number % 10]
    fate = {7: "dead", 18: "dead", 31: "strayed", 45: "strayed", 53: "dead"}.get(number % 59, "lives")
    if place == "fcm":
        token = ("UNREGISTERED-" if fate == "dead" else "") + f"tablet{number}:APA91b"
        fate = "lives" if fate == "strayed" else fate
    else:
        # A strayed token belongs to the other environment than its registration (docs/simulator.md).
        other = {"production": "dead3100", "sandbox": "dead3000"}[place]
        start = {"dead": "dead0100", "strayed": other, "lives": "a11e0000"}[fate]
        token = start + f"{number:056x}"
    tags = [["news"], ["bells", "spring"], ["news", "bells"]][number % 3]
    return {
        "installation": f"device-{number}", "place": place, "fate": fate, "token": token, "tags": tags,
        "locale": LOCALES[number % len(LOCALES)], "badge": number % 5,
    }


def bystander(number):
    """A device outside the audience: without its tags, or muted."""
    tags = [["spring"], ["news", "muted"], []][number % 3]
    return {**device(number), "installation": f"bystander-{number}", "token": f"b57a{number:060x}", "tags": tags,
            "place": "production", "fate": "lives"}


def registration(one):
    line = {
        "installation": one["installation"], "token": one["token"], "tags": one["tags"], "badge": one["badge"],
        "provider": "fcm" if one["place"] == "fcm" else "apns",
    }
    if one["locale"]:
        line["locale"] = one["locale"]
    if one["place"] != "fcm":
        line["environment"] = one["place"]
    return line


@pytest.fixture(scope="module")
def world():
    stand_in = StandIn("--sandbox-port", "0")
    try:
        # The simulators drop no request below 256 MiB. A quota as large as the audience disables FCM's pace.
        settings = {
            "APNS_PRODUCTION_URL": stand_in.apns_url, "APNS_SANDBOX_URL": stand_in.sandbox_url,
            "FCM_URL": stand_in.fcm_url, "PROVIDER_CA_FILE": stand_in.ca_file, **wide_fcm_budget(),
        }
        gateway = Gateway(**settings)
        try:
            yield gateway, stand_in
        finally:
            gateway.stop()
    finally:
        stand_in.stop()


def wide_fcm_budget():
    import subprocess
    from support import PROGRAM
    known = subprocess.run([PROGRAM, "settings"], capture_output=True, text=True, check=True).stdout
    return {"FCM_MESSAGES_PER_MINUTE": "60000000"} if "CARILLON_FCM_MESSAGES_PER_MINUTE" in known else {}


def furnish(gateway, stand_in, everybody):
    gateway.make_app(SLUG)
    gateway.hand_in(SLUG, {
        "provider": "apns", "kind": "token", "environment": "both", "topics": [TOPIC],
        "key_id": stand_in.told["apns_key_id"], "team_id": stand_in.told["apns_team_id"],
        "p8": pathlib.Path(stand_in.told["apns_key_file"]).read_text()})
    gateway.hand_in(SLUG, {
        "provider": "fcm", "kind": "service_account",
        "service_account": json.loads(pathlib.Path(stand_in.account_file).read_text())})
    for start in range(0, len(everybody), IMPORT_LINES):
        lines = [written(registration(one)) for one in everybody[start:start + IMPORT_LINES]]
        answer = gateway.api.expect(
            200, "POST", f"/v1/apps/{SLUG}/devices/import", "\n".join(lines) + "\n",
            {"content-type": "application/x-ndjson"})
        end = json.loads(answer.splitlines()[-1])
        assert (end["done"], end["created"], end["refused"]) == (True, len(lines), 0), answer[-500:]


def feed_of(gateway):
    after, items = "", []
    while True:
        page = gateway.api.expect(200, "GET", f"/v1/apps/{SLUG}/feedback?limit=1000" + (after and f"&after={after}"))
        if not page["items"]:
            return items
        items += page["items"]
        after = page["next"]


def by_token(requests):
    found = {}
    for request in requests:
        found.setdefault(request["token"], []).append(request)
    return found


class Checker:
    """Compares each port's requests with the expected ones. Keeps at most twenty complaints."""

    def __init__(self, account):
        self.account = account
        self.account["expires_seconds"] = int(
            datetime.fromisoformat(account["expires_at"].replace("Z", "+00:00")).timestamp())
        self.wrong = []
        self.ids = {}
        self.seen_message = None

    def expect(self, condition, *words):
        if not condition:
            self.wrong.append(words)
            if len(self.wrong) == 20:
                pytest.fail(self.complaint())

    def complaint(self):
        return "\n".join(" | ".join(str(word) for word in words) for words in self.wrong)

    def apns(self, one, request):
        expected = written(apns_body(one, MESSAGE))
        self.expect(request["body"] == expected, one["token"], request["body"], expected)
        for name, value in apns_headers(self.account, MESSAGE, TOPIC).items():
            self.expect(request["headers"].get(name) == value, one["token"], name, request["headers"].get(name), value)
        push_id = request["answer"]["id"]
        self.expect(push_id[14] == "8" and push_id[19] in "89ab", one["token"], "no UUIDv8", push_id)
        self.expect(self.ids.setdefault(push_id, one["token"]) == one["token"], "one id for two", push_id)

    def fcm(self, one, request):
        sent = json.loads(request["body"])
        self.seen_message = self.seen_message or sent
        # Whole seconds left when the parcel was written: after the message was accepted, before the push arrived.
        arrived = datetime.fromisoformat(request["at"].replace("Z", "+00:00")).timestamp()
        ttl = sent["message"]["android"]["ttl"]
        left = self.account["expires_seconds"] - arrived
        bounds = (int(left) - 1, MESSAGE["options"]["ttl_seconds"])
        self.expect(ttl.endswith("s") and bounds[0] <= int(ttl[:-1]) <= bounds[1], one["token"], "ttl", ttl, bounds)
        expected = fcm_body(one, MESSAGE, self.account, int(ttl[:-1]))
        self.expect(sent == expected, one["token"], sent, expected)
        exact = written(ordered_like(expected, self.seen_message))
        self.expect(request["body"] == exact, one["token"], request["body"], exact)


def test_a_broadcast_over_three_routes_reaches_each_device_with_its_own_bytes(world, record_property):
    gateway, stand_in = world
    audience = [device(number) for number in range(COUNT)]
    bystanders = [bystander(number) for number in range(COUNT // 25)]
    began = time.monotonic()
    furnish(gateway, stand_in, audience + bystanders)
    imported = time.monotonic() - began
    idle_memory = gateway.peak_memory_mib()

    began = time.monotonic()
    message = gateway.send(SLUG, MESSAGE)
    account = gateway.finished(SLUG, message, SECONDS_MAX)
    sent = time.monotonic() - began
    memory = gateway.peak_memory_mib()

    began = time.monotonic()
    sandbox = Caller(stand_in.sandbox_url, stand_in.ca_file)
    got = {
        "production": by_token(stand_in.requests(stand_in.apns)), "sandbox": by_token(stand_in.requests(sandbox)),
        "fcm": by_token(stand_in.requests(stand_in.fcm)),
    }
    sandbox.close()
    for caller in (stand_in.apns, stand_in.fcm):
        assert caller.expect(200, "GET", "/simulator/summary")["forgotten"] == 0
    found = check_pushes(Checker(account), audience, bystanders, got)
    check_account(account, audience, found)
    check_feed(feed_of(gateway), audience)
    check_registry(gateway, audience)
    figures = {
        "devices": COUNT, "import_seconds": round(imported, 1), "sending_seconds": round(sent, 1),
        "pushes_per_second": round(COUNT / sent), "checking_seconds": round(time.monotonic() - began, 1),
        "memory_mib": round(memory), "memory_before_mib": round(idle_memory),
    }
    record_property("figures", figures)
    print(figures)


def check_pushes(checker, audience, bystanders, got):
    """Checks each push byte for byte, and that each strayed token was tried once elsewhere, by one id. Returns them."""
    found = set()
    other = {"production": "sandbox", "sandbox": "production"}
    for one in audience:
        origin = got[one["place"]].pop(one["token"], [])
        statuses = [request["answer"]["status"] for request in origin]
        refused = {"lives": 200, "dead": 404 if one["place"] == "fcm" else 410, "strayed": 400}[one["fate"]]
        checker.expect(statuses == [refused], one["token"], one["place"], statuses, "not", [refused])
        for request in origin:
            (checker.fcm if one["place"] == "fcm" else checker.apns)(one, request)
        if one["fate"] == "strayed":
            sibling = got[other[one["place"]]].pop(one["token"], [])
            statuses = [request["answer"]["status"] for request in sibling]
            checker.expect(statuses == [200], one["token"], "sibling", len(sibling))
            for request in sibling:
                checker.apns(one, request)
                ids = {each["answer"]["id"] for each in origin + sibling}
                checker.expect(len(ids) == 1, one["token"], "more than one id", ids)
                found.add(one["token"])
    left = {place: sorted(tokens)[:3] for place, tokens in got.items() if tokens}
    assert left == {}, f"no device of the audience has these tokens: {left}"
    assert not checker.wrong, checker.complaint()
    return found


def check_account(account, audience, found):
    expected = {}
    for one in audience:
        provider = expected.setdefault(
            "fcm" if one["place"] == "fcm" else "apns", {"accepted": 0, "unregistered": 0, "rejected": 0})
        fate = one["fate"]
        provider["unregistered" if fate == "dead" else "accepted"] += 1
    assert (account["audience"], account["pending"]) == (len(audience), 0)
    for provider, counts in expected.items():
        shown = account["providers"][provider]
        assert {name: shown["outcomes"][name] for name in counts} == counts, provider
        assert sum(shown["outcomes"].values()) == shown["audience"] == sum(counts.values()), provider
        assert shown["pending"] == 0
    assert set(account["providers"]) == set(expected)
    assert account["outcomes"] == {
        name: sum(account["providers"][provider]["outcomes"][name] for provider in expected)
        for name in account["outcomes"]}
    strayed = {one["token"] for one in audience if one["fate"] == "strayed"}
    assert found == strayed
    # The audience must have devices of every kind.
    assert all(counts["accepted"] and counts["unregistered"] for counts in expected.values()) and strayed


def check_registry(gateway, audience):
    """Checks that strayed devices are registered in the environment in which they were found."""
    other = {"production": "sandbox", "sandbox": "production"}
    for one in [one for one in audience if one["fate"] == "strayed"][:50]:
        shown = gateway.api.expect(200, "GET", f"/v1/apps/{SLUG}/devices/{one['installation']}")
        assert shown["environment"] == other[one["place"]], one["installation"]


def check_feed(feed, audience):
    reported = {}
    for item in feed:
        values = (item["provider"], item["reason"])
        if item["verdict"] == "environment_changed":
            values = (item["from"], item["to"])
        reported.setdefault(item["verdict"], {})[item["installation"]] = values
    dead = {
        one["installation"]: ("fcm", "UNREGISTERED") if one["place"] == "fcm" else ("apns", "Unregistered")
        for one in audience if one["fate"] == "dead"}
    assert reported.pop("retired") == dead
    strayed = {
        one["installation"]: (one["place"], {"production": "sandbox", "sandbox": "production"}[one["place"]])
        for one in audience if one["fate"] == "strayed"}
    assert reported.pop("environment_changed") == strayed
    assert reported == {}, "no token that was found elsewhere was ever suspected"
