"""Node's HTTP/2 client sends to the APNs simulator, which changes its settings and sends GOAWAY."""

import json
import subprocess

import pytest
from support import INTEROP, SEARCH_PATH, StandIn
from tokens import provider_token

TOPIC = "com.example.carillon"
BODY = '{"aps":{"alert":"Noon"}}'


@pytest.fixture(scope="module")
def apple_like():
    """A simulator that is as strict with streams as Apple: one until the first success."""
    stand_in = StandIn()
    yield stand_in
    stand_in.stop()


@pytest.fixture
def strict(apple_like):
    apple_like.reset()
    return apple_like


def sent(stand_in, tokens):
    job = {
        "url": stand_in.apns_url, "ca_file": stand_in.ca_file, "tokens": tokens, "body": BODY,
        "headers": {
            "authorization": "bearer " + provider_token(stand_in), "apns-topic": TOPIC, "apns-push-type": "alert",
        },
    }
    done = subprocess.run(
        ["node", str(INTEROP / "http2_client.mjs")], input=json.dumps(job), capture_output=True, text=True,
        timeout=120, env={"PATH": SEARCH_PATH}, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def summary(stand_in):
    return stand_in.apns.expect(200, "GET", "/simulator/summary")


def tokens_of(count):
    return [f"c0{number:06x}" for number in range(count)]


def test_a_thousand_streams_one_at_first_then_many(strict):
    tokens = tokens_of(1000)
    seen = sent(strict, tokens)
    assert seen["left"] == [] and seen["connections"] == 1 and seen["goaways"] == []
    assert {answer["status"] for answer in seen["answers"].values()} == {200}
    assert seen["limits"][0] == 1 and seen["limits"][-1] == 1000
    counts = summary(strict)
    assert (counts["accepted"], counts["tokens"], counts["repeated"]) == (1000, 1000, 0)
    ids = {push["token"]: push["answer"]["id"] for push in strict.requests(strict.apns)}
    assert ids == {token: answer["id"] for token, answer in seen["answers"].items()}


def test_a_goaway_in_the_middle_loses_and_repeats_nothing(strict):
    strict.script(strict.apns, {"faults": [
        {"kind": "goaway", "reason": "Shutdown", "at": 100, "times": 1, "close": "when_answered"}]})
    tokens = tokens_of(300)
    seen = sent(strict, tokens)
    assert seen["left"] == [] and seen["connections"] == 2
    assert len(seen["answers"]) == 300
    (goaway,) = seen["goaways"]
    assert goaway["code"] == 0 and json.loads(goaway["data"])["reason"] == "Shutdown"
    counts = summary(strict)
    assert (counts["goaways"], counts["faults"], counts["accepted"], counts["tokens"]) == (1, 1, 300, 300)
    kept = strict.requests(strict.apns)
    assert sorted(push["token"] for push in kept) == tokens
    assert sum(1 for push in kept if push["connection"] == kept[0]["connection"]) == 99


def test_a_change_of_the_stream_limit_is_heard_and_obeyed(strict):
    strict.script(strict.apns, {"faults": [{"kind": "stream_limit", "limit": 7, "at": 50, "times": 1}]})
    seen = sent(strict, tokens_of(200))
    assert seen["left"] == [] and seen["connections"] == 1
    assert seen["limits"][0] == 1 and 7 in seen["limits"]
    counts = summary(strict)
    assert (counts["accepted"], counts["faults"], counts["refused"], counts["reset"]) == (200, 1, [], 0)


def test_refusals_among_many_are_told_apart(strict):
    tokens = tokens_of(50) + ["dead0100cc", "dead0400cc"]
    seen = sent(strict, tokens)
    assert seen["answers"]["dead0100cc"]["reason"] == "Unregistered"
    assert seen["answers"]["dead0100cc"]["timestamp"] > 1_600_000_000_000
    assert seen["answers"]["dead0400cc"] == {
        "status": 400, "reason": "BadDeviceToken", "id": seen["answers"]["dead0400cc"]["id"]}
    assert summary(strict)["accepted"] == 50
