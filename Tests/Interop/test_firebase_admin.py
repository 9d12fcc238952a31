"""firebase-admin for Python from PyPI sends to the FCM simulator."""

import asyncio
import datetime

import firebase_admin
import pytest
from firebase_admin import credentials, exceptions, messaging


@pytest.fixture
def app(stand_in, monkeypatch):
    # requests reads the first variable, httpx the second.
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", stand_in.ca_file)
    monkeypatch.setenv("SSL_CERT_FILE", stand_in.ca_file)
    service = messaging._MessagingService
    monkeypatch.setattr(service, "FCM_URL", stand_in.fcm_url + "/v1/projects/{0}/messages:send")
    monkeypatch.setattr(service, "IID_URL", stand_in.fcm_url)
    app = firebase_admin.initialize_app(credentials.Certificate(stand_in.account_file))
    yield app
    firebase_admin.delete_app(app)


def summary(stand_in):
    return stand_in.fcm.expect(200, "GET", "/simulator/summary")


def test_a_message_with_every_part_is_accepted_and_kept_as_it_was_sent(stand_in, app):
    message = messaging.Message(
        token="phone", data={"article": "42"},
        notification=messaging.Notification(title="Carillon", body="Midi à Évreux", image="https://example.com/bell.png"),
        android=messaging.AndroidConfig(
            collapse_key="noon", priority="high", ttl=datetime.timedelta(seconds=90.5), data={"bell": "1"},
            restricted_package_name="com.example.carillon", direct_boot_ok=True,
            notification=messaging.AndroidNotification(
                channel_id="news", color="#336699", tag="noon", sound="default", visibility="public",
                vibrate_timings_millis=[100, 200], notification_count=3, priority="max",
                light_settings=messaging.LightSettings("#ff0000", 200, 300))),
        apns=messaging.APNSConfig(
            headers={"apns-priority": "10"},
            payload=messaging.APNSPayload(aps=messaging.Aps(badge=3, sound="default", mutable_content=True))),
        webpush=messaging.WebpushConfig(
            headers={"TTL": "60"}, notification=messaging.WebpushNotification(title="Carillon"),
            fcm_options=messaging.WebpushFCMOptions(link="https://example.com/")),
        fcm_options=messaging.FCMOptions(analytics_label="noon"))
    name = messaging.send(message)
    assert name.startswith(f"projects/{stand_in.project}/messages/")
    (push,) = stand_in.received(stand_in.fcm, "phone")
    assert push["status"] == 200
    kept = push["payload"]["message"]
    assert kept == messaging._MessagingService.encode_message(message)
    assert kept["android"]["ttl"] == "90.500000000s"
    assert summary(stand_in)["access_tokens_issued"] == 1


def test_a_dry_run_is_checked_and_not_accepted(stand_in, app):
    name = messaging.send(messaging.Message(token="phone", data={"a": "b"}), dry_run=True)
    assert name.endswith("/messages/fake_message_id")
    counts = summary(stand_in)
    assert (counts["dry_runs"], counts["accepted"]) == (1, 0)
    (push,) = stand_in.requests(stand_in.fcm, "phone")
    assert push["dry_run"] is True
    with pytest.raises(messaging.UnregisteredError):
        messaging.send(messaging.Message(token="UNREGISTERED-phone", data={"a": "b"}), dry_run=True)


def test_topics_and_conditions_are_targets(stand_in, app):
    messaging.send(messaging.Message(topic="news", notification=messaging.Notification(title="Noon")))
    messaging.send(messaging.Message(condition="'news' in topics && !('bells' in topics)", data={"a": "b"}))
    (push,) = stand_in.received(stand_in.fcm, "/topics/news")
    assert push["payload"]["message"] == {"topic": "news", "notification": {"title": "Noon"}}
    assert summary(stand_in)["accepted"] == 2


# The SDK's exception for each answer, and its own code for it.
ERRORS = {
    "UNREGISTERED": (messaging.UnregisteredError, "NOT_FOUND"),
    "SENDER_ID_MISMATCH": (messaging.SenderIdMismatchError, "PERMISSION_DENIED"),
    "INVALID_TOKEN": (exceptions.InvalidArgumentError, "INVALID_ARGUMENT"),
    "INVALID_TOKEN_FIELD": (exceptions.InvalidArgumentError, "INVALID_ARGUMENT"),
    "INVALID_PAYLOAD": (exceptions.InvalidArgumentError, "INVALID_ARGUMENT"),
    "MESSAGE_TOO_BIG": (exceptions.InvalidArgumentError, "INVALID_ARGUMENT"),
    "INVALID_TTL": (exceptions.InvalidArgumentError, "INVALID_ARGUMENT"),
    "THIRD_PARTY_AUTH_ERROR": (messaging.ThirdPartyAuthError, "UNAUTHENTICATED"),
    "APNS_AUTH_ERROR": (messaging.ThirdPartyAuthError, "UNAUTHENTICATED"),
    "INTERNAL": (exceptions.InternalError, "INTERNAL"),
    "UNSPECIFIED_ERROR_500": (exceptions.UnknownError, "UNKNOWN"),
    "QUOTA_EXCEEDED": (messaging.QuotaExceededError, "RESOURCE_EXHAUSTED"),
    "QUOTA_EXCEEDED_PROJECT": (messaging.QuotaExceededError, "RESOURCE_EXHAUSTED"),
    "QUOTA_EXCEEDED_DEVICE": (messaging.QuotaExceededError, "RESOURCE_EXHAUSTED"),
    "UNAVAILABLE": (exceptions.UnavailableError, "UNAVAILABLE"),
    "UNAUTHENTICATED": (exceptions.UnauthenticatedError, "UNAUTHENTICATED"),
    "PERMISSION_DENIED": (exceptions.PermissionDeniedError, "PERMISSION_DENIED"),
    "NOT_FOUND": (exceptions.NotFoundError, "NOT_FOUND"),
    "HTML_404": (exceptions.NotFoundError, "NOT_FOUND"),
    "HTML_502": (exceptions.UnknownError, "UNKNOWN"),
    "EMPTY_502": (exceptions.UnknownError, "UNKNOWN"),
}


def test_every_documented_error_becomes_its_exception(stand_in, app):
    messages = [messaging.Message(token=f"{fate}-phone", data={"a": "b"}) for fate in ERRORS]
    batch = messaging.send_each(messages + [messaging.Message(token="phone", data={"a": "b"})])
    assert (batch.success_count, batch.failure_count) == (1, len(ERRORS))
    raised = {
        fate: (type(one.exception), one.exception.code) for fate, one in zip(ERRORS, batch.responses, strict=False)
    }
    assert raised == ERRORS
    assert batch.responses[-1].message_id
    assert summary(stand_in)["accepted"] == 1
    # The SDK tries 500 and 503 again, four times; 401 after a new access token, twice.
    tries = {fate: len(stand_in.received(stand_in.fcm, f"{fate}-phone")) for fate in ERRORS}
    for fate, count in tries.items():
        if fate in ("INTERNAL", "UNSPECIFIED_ERROR_500", "UNAVAILABLE"):
            assert count == 5, tries
        elif fate not in ("THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR", "UNAUTHENTICATED"):
            assert count == 1, tries


def test_an_outage_that_passes_is_tried_again_and_survived(stand_in, app):
    assert messaging.send(messaging.Message(token="UNAVAILABLE:2-phone", data={"a": "b"}))
    assert [push["status"] for push in stand_in.received(stand_in.fcm, "UNAVAILABLE:2-phone")] == [503, 503, 200]


def test_many_at_once_over_http_2(stand_in, app):
    messages = [messaging.Message(token=f"phone-{number}", data={"n": str(number)}) for number in range(200)]
    messages += [messaging.Message(token="UNREGISTERED-phone", data={"n": "200"})]

    async def send_and_hang_up():
        batch = await messaging.send_each_async(messages, dry_run=False)
        await messaging._get_messaging_service(app)._async_client.aclose()
        return batch
    batch = asyncio.run(send_and_hang_up())
    assert (batch.success_count, batch.failure_count) == (200, 1)
    assert isinstance(batch.responses[200].exception, messaging.UnregisteredError)
    counts = summary(stand_in)
    assert (counts["accepted"], counts["tokens"]) == (200, 201)
    for number in range(200):
        (push,) = stand_in.received(stand_in.fcm, f"phone-{number}")
        assert push["payload"]["message"]["data"] == {"n": str(number)}


def test_tokens_join_and_leave_a_topic(stand_in, app):
    tokens = ["phone", "UNREGISTERED-phone", "INVALID_TOKEN-phone", "TOO_MANY_TOPICS-phone", "QUOTA_EXCEEDED-phone"]
    answer = messaging.subscribe_to_topic_legacy(tokens, "news")
    assert (answer.success_count, answer.failure_count) == (1, 4)
    assert [(one.index, one.reason) for one in answer.errors] == [
        (1, "NOT_FOUND"), (2, "INVALID_ARGUMENT"), (3, "TOO_MANY_TOPICS"), (4, "RESOURCE_EXHAUSTED")]
    answer = messaging.unsubscribe_from_topic_legacy(["phone"], "news")
    assert (answer.success_count, answer.failure_count) == (1, 0)
    assert summary(stand_in)["topic_calls"] == 2


def test_tokens_join_and_leave_a_topic_one_by_one(stand_in, app):
    # The only address that is not an attribute of the class.
    service = messaging._get_messaging_service(app)
    service._fcm_topic_url = f"{stand_in.fcm_url}/v1/projects/{stand_in.project}/registrations"
    tokens = [
        "phone:APA91b_1/2", "UNREGISTERED-phone", "INVALID_TOKEN-phone", "TOO_MANY_TOPICS-phone",
        "QUOTA_EXCEEDED-phone", "SENDER_ID_MISMATCH-phone", "UNAVAILABLE:1-phone"]
    errors = [
        (1, "UNREGISTERED"), (2, "INVALID_ARGUMENT"), (3, "RESOURCE_EXHAUSTED"), (4, "QUOTA_EXCEEDED"),
        (5, "SENDER_ID_MISMATCH")]
    answer = messaging.subscribe_to_topic(tokens, "/topics/news")
    assert (answer.success_count, answer.failure_count) == (2, 5)
    assert [(one.index, one.reason) for one in answer.errors] == errors
    answer = messaging.unsubscribe_from_topic(tokens, "news")
    assert [(one.index, one.reason) for one in answer.errors] == errors
    # The request that met the outage was repeated.
    assert summary(stand_in)["topic_calls"] == 2 * len(tokens) + 1
    calls = stand_in.received(stand_in.fcm, "/topics/news")
    assert sum(call["status"] == 200 for call in calls) == 4

    async def join_and_hang_up():
        answer = await messaging.subscribe_to_topic_async([f"phone-{number}" for number in range(150)], "bells")
        await service._async_client.aclose()
        return answer
    answer = asyncio.run(join_and_hang_up())
    assert (answer.success_count, answer.failure_count) == (150, 0)
    assert len(stand_in.received(stand_in.fcm, "/topics/bells")) == 150


def test_what_the_sdk_lets_through_is_refused_by_its_field(stand_in, app):
    bad = messaging.Message(token="phone", data={"google.sent_time": "1"})
    with pytest.raises(exceptions.InvalidArgumentError):
        messaging.send(bad)
    assert summary(stand_in)["accepted"] == 0
