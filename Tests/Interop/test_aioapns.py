"""aioapns from PyPI sends to the APNs simulator."""

import asyncio
import json
import pathlib
import ssl
import time

import pytest
from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol

TOPIC = "com.example.carillon"
SUFFIXES = {
    PushType.VOIP: ".voip", PushType.COMPLICATION: ".complication", PushType.FILEPROVIDER: ".pushkit.fileprovider",
    PushType.LIVEACTIVITY: ".push-type.liveactivity",
}


def sent(stand_in, requests, certificate=False, one_by_one=False):
    """The results, in the order of the requests. All requests run at once, unless one by one."""
    APNsProductionClientProtocol.APNS_SERVER = "localhost"
    APNsProductionClientProtocol.APNS_PORT = stand_in.apns_port
    context = ssl.create_default_context(cafile=stand_in.ca_file)

    async def all_of_them():
        if certificate:
            client = APNs(client_cert=stand_in.told["apns_certificate_file"], ssl_context=context, max_connections=1)
        else:
            key = pathlib.Path(stand_in.told["apns_key_file"]).read_text()
            client = APNs(
                key=key, key_id=stand_in.told["apns_key_id"], team_id=stand_in.told["apns_team_id"], topic=TOPIC,
                ssl_context=context, max_connections=1)
        try:
            if one_by_one:
                return [await asyncio.wait_for(client.send_notification(request), 60) for request in requests]
            return await asyncio.wait_for(
                asyncio.gather(*[client.send_notification(request) for request in requests]), 120)
        finally:
            client.pool.close()
    return asyncio.run(all_of_them())


def request(token, push_type=PushType.ALERT, message=None, **more):
    message = message or {"aps": {"alert": {"title": "Carillon", "body": "Midi à Évreux"}}}
    return NotificationRequest(
        token, message, push_type=push_type, apns_topic=TOPIC + SUFFIXES.get(push_type, ""), **more)


@pytest.mark.parametrize("certificate", [False, True], ids=["token", "certificate"])
def test_every_push_type_is_accepted_and_kept_as_it_was_sent(stand_in, certificate):
    requests = []
    # The certificate is for the app's own topic, .voip and .complication.
    types = [one for one in PushType if not certificate or SUFFIXES.get(one) in (None, ".voip", ".complication")]
    for number, push_type in enumerate(types):
        message = {"aps": {"alert": "Noon", "n": number}}
        if push_type is PushType.BACKGROUND:
            message = {"aps": {"content-available": 1}, "n": number}
        requests.append(request(
            f"a0{number:02x}", push_type, message, priority=5, time_to_live=3600, collapse_key=f"noon-{number}"))
    results = sent(stand_in, requests, certificate)
    answers = [(one.status, one.description) for one in results]
    assert answers == [("200", None)] * len(requests)
    for one in requests:
        (push,) = stand_in.requests(stand_in.apns, one.device_token)
        assert json.loads(push["body"]) == one.message
        assert push["answer"] == {"status": 200, "id": one.notification_id}
        headers = push["headers"]
        assert headers["apns-push-type"] == one.push_type.value
        assert headers["apns-topic"] == one.apns_topic
        assert headers["apns-priority"] == "5"
        assert headers["apns-collapse-id"] == one.collapse_key
        assert abs(int(headers["apns-expiration"]) - time.time() - 3600) < 120
        assert "authorization" not in headers
    summary = stand_in.apns.expect(200, "GET", "/simulator/summary")
    assert (summary["accepted"], summary["refused"], summary["repeated"]) == (len(requests), [], 0)


def test_a_certificate_is_good_for_its_topics_alone(stand_in):
    (result,) = sent(stand_in, [request("a1", PushType.LIVEACTIVITY)], certificate=True)
    assert (result.status, result.description) == ("400", "TopicDisallowed")
    (push,) = stand_in.received(stand_in.apns, "a1")
    assert push["reason"] == "TopicDisallowed"


def test_hundreds_at_once_on_one_connection(stand_in):
    results = sent(stand_in, [request(f"b0{number:06x}") for number in range(500)])
    assert {one.status for one in results} == {"200"}
    assert len({one.notification_id for one in results}) == 500
    summary = stand_in.apns.expect(200, "GET", "/simulator/summary")
    assert (summary["accepted"], summary["tokens"]) == (500, 500)
    assert len({push["connection"] for push in stand_in.requests(stand_in.apns)}) == 1


# Apple's answer for each fate with a documented reason (docs/simulator.md).
REASONS = {
    "01": ("410", "Unregistered"), "02": ("410", "Unregistered"), "03": ("410", "ExpiredToken"),
    "04": ("400", "BadDeviceToken"), "05": ("400", "DeviceTokenNotForTopic"), "06": ("429", "TooManyRequests"),
    "07": ("500", "InternalServerError"), "08": ("503", "ServiceUnavailable"), "09": ("503", "Shutdown"),
    "0a": ("400", "TopicDisallowed"), "0b": ("413", "PayloadTooLarge"), "0d": ("403", "InvalidProviderToken"),
    "0e": ("403", "Forbidden"), "0f": ("429", "TooManyProviderTokenUpdates"), "40": ("400", "BadCollapseId"),
    "41": ("400", "BadExpirationDate"), "42": ("400", "BadMessageId"), "43": ("400", "BadPriority"),
    "44": ("400", "BadTopic"), "45": ("400", "DuplicateHeaders"), "46": ("400", "IdleTimeout"),
    "47": ("400", "InvalidPushType"), "48": ("400", "MissingDeviceToken"), "49": ("400", "MissingTopic"),
    "4a": ("400", "PayloadEmpty"), "4b": ("403", "BadCertificate"), "4c": ("403", "BadCertificateEnvironment"),
    "4d": ("403", "MissingProviderToken"), "4e": ("403", "UnrelatedKeyIdInToken"),
    "4f": ("403", "BadEnvironmentKeyIdInToken"), "51": ("404", "BadPath"), "52": ("405", "MethodNotAllowed"),
}


def test_every_documented_refusal_reaches_the_client_by_its_name(stand_in):
    requests = [request(f"dead{fate}00aa") for fate in REASONS]
    results = sent(stand_in, requests)
    assert [(one.status, one.description) for one in results] == list(REASONS.values())
    assert [one.notification_id for one in results] == [one.notification_id for one in requests]
    counted = {
        (str(line["status"]), line["reason"]): line["count"]
        for line in stand_in.apns.expect(200, "GET", "/simulator/summary")["refused"]
    }
    expected = {}
    for answer in REASONS.values():
        expected[answer] = expected.get(answer, 0) + 1
    assert counted == expected
    for one in results:
        if one.description not in ("Unregistered", "ExpiredToken"):
            assert one.timestamp is None


def test_a_410_says_since_when_in_milliseconds(stand_in):
    now, long_ago = sent(stand_in, [request("dead0100bb"), request("dead0200bb")])
    assert (now.status, now.description) == ("410", "Unregistered")
    assert abs(now.timestamp - time.time() * 1000) < 120_000
    assert long_ago.timestamp == 1_577_836_800_000  # 2020-01-01
    (push,) = stand_in.received(stand_in.apns, "dead0100bb")
    assert (push["status"], push["reason"]) == (410, "Unregistered")


def test_a_token_that_lives_after_its_second_refusal(stand_in):
    results = sent(stand_in, [request("dead0802cc") for _ in range(3)], one_by_one=True)
    assert [one.status for one in results] == ["503", "503", "200"]
    assert [push["status"] for push in stand_in.received(stand_in.apns, "dead0802cc")] == [503, 503, 200]


def test_a_payload_too_large_is_refused_by_its_size(stand_in):
    (result,) = sent(stand_in, [request("a1", message={"aps": {"alert": "x" * 4096}})])
    assert (result.status, result.description) == ("413", "PayloadTooLarge")
