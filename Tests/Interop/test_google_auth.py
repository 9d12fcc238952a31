"""google-auth by itself requests access tokens from the OAuth simulator."""

import json
import pathlib

import pytest
import requests
from google.auth import exceptions
from google.auth.transport.requests import AuthorizedSession, Request
from google.oauth2 import service_account

SCOPE = "https://www.googleapis.com/auth/firebase.messaging"


def account(stand_in, **changes):
    return {**json.loads(pathlib.Path(stand_in.account_file).read_text()), **changes}


def credentials(stand_in, scope=SCOPE, **changes):
    return service_account.Credentials.from_service_account_info(account(stand_in, **changes), scopes=[scope])


@pytest.fixture
def transport(stand_in, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", stand_in.ca_file)
    session = requests.Session()
    yield Request(session=session)
    session.close()


def test_an_access_token_is_issued_and_good_for_sending(stand_in, transport):
    own = credentials(stand_in)
    own.refresh(transport)
    assert own.valid and own.token
    with AuthorizedSession(own, auth_request=transport) as session:
        answer = session.post(
            f"{stand_in.fcm_url}/v1/projects/{stand_in.project}/messages:send",
            json={"message": {"token": "phone", "data": {"hour": "12"}}})
    assert answer.status_code == 200
    assert answer.json()["name"].startswith(f"projects/{stand_in.project}/messages/")
    (push,) = stand_in.received(stand_in.fcm, "phone")
    assert push["payload"] == {"message": {"token": "phone", "data": {"hour": "12"}}}
    summary = stand_in.fcm.expect(200, "GET", "/simulator/summary")
    assert (summary["access_tokens_asked"], summary["access_tokens_issued"], summary["accepted"]) == (1, 1, 1)


def test_another_accounts_name_is_refused(stand_in, transport):
    with pytest.raises(exceptions.RefreshError, match="invalid_grant"):
        credentials(stand_in, client_email="somebody@else.iam.gserviceaccount.com").refresh(transport)
    summary = stand_in.fcm.expect(200, "GET", "/simulator/summary")
    assert (summary["access_tokens_asked"], summary["access_tokens_issued"]) == (1, 0)


def test_another_key_is_refused(stand_in, transport):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    with pytest.raises(exceptions.RefreshError, match="invalid_grant"):
        credentials(stand_in, private_key=key.decode()).refresh(transport)


def test_a_scope_that_nobody_knows_is_refused(stand_in, transport):
    with pytest.raises(exceptions.RefreshError, match="invalid_scope"):
        credentials(stand_in, scope="unheard-of").refresh(transport)


def test_an_access_token_for_another_service_may_not_send(stand_in, transport):
    own = credentials(stand_in, scope="https://www.googleapis.com/auth/devstorage.read_only")
    with AuthorizedSession(own, auth_request=transport) as session:
        answer = session.post(
            f"{stand_in.fcm_url}/v1/projects/{stand_in.project}/messages:send",
            json={"message": {"token": "phone", "data": {"hour": "13"}}})
    assert answer.status_code == 403
    assert answer.json()["error"]["status"] == "PERMISSION_DENIED"
    assert "details" not in answer.json()["error"] or not any(
        "FcmError" in one["@type"] for one in answer.json()["error"]["details"])
    assert stand_in.fcm.expect(200, "GET", "/simulator/summary")["accepted"] == 0


def test_a_revoked_access_token_is_refreshed_once(stand_in, transport):
    own = credentials(stand_in)
    own.refresh(transport)
    first = own.token
    stand_in.script(stand_in.fcm, {"now": [{"kind": "revoke_access_tokens"}]})
    with AuthorizedSession(own, auth_request=transport) as session:
        answer = session.post(
            f"{stand_in.fcm_url}/v1/projects/{stand_in.project}/messages:send",
            json={"message": {"token": "phone", "data": {"hour": "13"}}})
    assert answer.status_code == 200
    assert own.token != first
    summary = stand_in.fcm.expect(200, "GET", "/simulator/summary")
    assert (summary["access_tokens_issued"], summary["accepted"]) == (2, 1)
    assert [(line["status"], line["count"]) for line in summary["refused"]] == [(401, 1)]
