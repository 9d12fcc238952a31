"""curl and nghttp from Debian send to the simulators."""

import json
import re
import subprocess

import pytest
from google.oauth2 import service_account
from support import SEARCH_PATH, folder
from tokens import provider_token

TOPIC = "com.example.carillon"
BODY = '{"aps":{"alert":"Noon"}}'


def run(*arguments):
    done = subprocess.run(
        arguments, capture_output=True, text=True, timeout=60, env={"PATH": SEARCH_PATH}, check=False)
    assert done.returncode == 0, f"{arguments[0]} ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def curl(stand_in, url, *arguments):
    """Status, the protocol's version, headers and body."""
    out = run("curl", "-sS", "--http2", "--cacert", stand_in.ca_file, "-D", "-", *arguments, url)
    head, _, body = out.replace("\r\n", "\n").partition("\n\n")
    lines = head.split("\n")
    version, status = lines[0].split(" ")[:2]
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(status), version, headers, body


def apns_headers(stand_in):
    return [
        "-H", "authorization: bearer " + provider_token(stand_in), "-H", f"apns-topic: {TOPIC}",
        "-H", "apns-push-type: alert", "-d", BODY,
    ]


def test_curl_sends_to_apns(stand_in):
    status, version, headers, body = curl(stand_in, stand_in.apns_url + "/3/device/d001", *apns_headers(stand_in))
    assert (status, version, body) == (200, "HTTP/2", "")
    (push,) = stand_in.requests(stand_in.apns, "d001")
    assert push["body"] == BODY
    assert push["answer"] == {"status": 200, "id": headers["apns-id"]}


def test_curl_is_refused_by_apns(stand_in):
    status, _, headers, body = curl(stand_in, stand_in.apns_url + "/3/device/dead0100dd", *apns_headers(stand_in))
    assert status == 410 and json.loads(body)["reason"] == "Unregistered"
    (push,) = stand_in.requests(stand_in.apns, "dead0100dd")
    assert push["answer"] == {"status": 410, "reason": "Unregistered", "id": headers["apns-id"]}


def test_curl_with_a_certificate_needs_no_provider_token(stand_in):
    status, _, _, _ = curl(
        stand_in, stand_in.apns_url + "/3/device/d002", "--cert", stand_in.told["apns_certificate_file"],
        "-H", f"apns-topic: {TOPIC}", "-H", "apns-push-type: alert", "-d", BODY)
    assert status == 200
    status, _, _, body = curl(
        stand_in, stand_in.apns_url + "/3/device/d003", "-H", f"apns-topic: {TOPIC}", "-H", "apns-push-type: alert",
        "-d", BODY)
    assert (status, json.loads(body)["reason"]) == (403, "MissingProviderToken")
    assert [push["answer"]["status"] for push in stand_in.requests(stand_in.apns)] == [200, 403]


@pytest.fixture
def bearer(stand_in, monkeypatch):
    from google.auth.transport.requests import Request
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", stand_in.ca_file)
    own = service_account.Credentials.from_service_account_file(
        stand_in.account_file, scopes=["https://www.googleapis.com/auth/firebase.messaging"])
    own.refresh(Request())
    return own.token


@pytest.mark.parametrize("protocol", ["--http2", "--http1.1"])
def test_curl_sends_to_fcm_and_is_refused(stand_in, bearer, protocol):
    url = f"{stand_in.fcm_url}/v1/projects/{stand_in.project}/messages:send"
    for token, expected in [("phone", 200), ("UNREGISTERED-phone", 404)]:
        body = json.dumps({"message": {"token": token, "notification": {"title": "Noon"}}})
        status, version, _, answer = curl(
            stand_in, url, protocol, "-H", "authorization: Bearer " + bearer, "-H", "content-type: application/json",
            "-d", body)
        assert (status, version) == (expected, "HTTP/2" if protocol == "--http2" else "HTTP/1.1")
        (push,) = stand_in.requests(stand_in.fcm, token)
        assert push["body"] == body and push["answer"]["status"] == expected
    (detail,) = json.loads(answer)["error"]["details"]
    assert detail["errorCode"] == "UNREGISTERED"


def nghttp(stand_in, token):
    place = folder("nghttp")
    body = place / "body.json"
    body.write_text(BODY)
    headers = [word if word != "-d" else "" for word in apns_headers(stand_in)][:-2]
    out = run("nghttp", "-v", "-d", str(body), *headers, f"{stand_in.apns_url}/3/device/{token}")
    body.unlink()
    place.rmdir()
    return out


def test_nghttp_sends_to_apns(stand_in):
    seen = nghttp(stand_in, "d004")
    assert re.search(r"recv \(stream_id=\d+\) :status: 200", seen), seen
    assert "recv SETTINGS frame" in seen and "SETTINGS_MAX_CONCURRENT_STREAMS" in seen
    (push,) = stand_in.requests(stand_in.apns, "d004")
    assert push["body"] == BODY and push["headers"]["user-agent"].startswith("nghttp2/")


def test_nghttp_is_refused_by_apns(stand_in):
    seen = nghttp(stand_in, "dead0400ee")
    assert re.search(r"recv \(stream_id=\d+\) :status: 400", seen), seen
    assert '{"reason":"BadDeviceToken"}' in seen
    (push,) = stand_in.requests(stand_in.apns, "dead0400ee")
    assert push["answer"]["reason"] == "BadDeviceToken"
