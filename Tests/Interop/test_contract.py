"""schemathesis reads docs/openapi.yaml and compares the running gateway with it.

It tries each operation's examples and the limits of its values. With CARILLON_CONTRACT_SECONDS it also sends random requests and sequences
of requests for that time; CARILLON_CONTRACT_SEED (1) chooses them.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from support import INTEROP, ROOT, SEARCH_PATH, Gateway, StandIn, folder

FUZZED = os.environ.get("CARILLON_CONTRACT_SECONDS")
# Without random requests it takes two minutes, and longer on a loaded machine.
SECONDS = int(FUZZED or "800")
PHASES = "examples,coverage" + (",fuzzing,stateful" if FUZZED else "")
SEED = os.environ.get("CARILLON_CONTRACT_SEED", "1")
CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "unsupported_method", "ignored_auth", "missing_required_header",
    "negative_data_rejection",
]
SLUG = "contract"


@pytest.fixture(scope="module")
def gateway():
    stand_in = StandIn("--sandbox-port", "0", "--open-streams")
    try:
        gateway = Gateway(
            APNS_PRODUCTION_URL=stand_in.apns_url, APNS_SANDBOX_URL=stand_in.sandbox_url, FCM_URL=stand_in.fcm_url,
            PROVIDER_CA_FILE=stand_in.ca_file)
        try:
            gateway.known = furnish(gateway, stand_in)
            yield gateway
        finally:
            gateway.stop()
    finally:
        stand_in.stop()


def furnish(gateway, stand_in):
    """The names of an app with a credential, devices, a message and a retired token."""
    gateway.make_app(SLUG)
    gateway.make_app("doomed")
    credentials = gateway.hand_in(SLUG, {
        "provider": "apns", "kind": "token", "environment": "production", "topics": ["com.example.carillon"],
        "key_id": stand_in.told["apns_key_id"], "team_id": stand_in.told["apns_team_id"],
        "p8": pathlib.Path(stand_in.told["apns_key_file"]).read_text()})
    gateway.hand_in(SLUG, {
        "provider": "fcm", "kind": "service_account",
        "service_account": json.loads(pathlib.Path(stand_in.account_file).read_text())})
    for name, registration in {
        "phone": {"provider": "apns", "token": "a001", "user": "anna", "locale": "fr-CA", "tags": ["news"]},
        "old": {"provider": "apns", "token": "dead0100aa"},
        "tablet": {"provider": "fcm", "token": "tablet", "user": "anna"},
    }.items():
        gateway.api.expect(201, "PUT", f"/v1/apps/{SLUG}/devices/{name}", registration)
    message = gateway.send(SLUG, {"audience": {"all": True}, "notification": {"title": "Noon"}})
    account = gateway.finished(SLUG, message)
    assert (account["outcomes"]["accepted"], account["outcomes"]["unregistered"]) == (2, 1)
    (feedback,) = gateway.api.expect(200, "GET", f"/v1/apps/{SLUG}/feedback")["items"]
    return {
        "app": SLUG, "installation": "phone", "message": message, "user": "anna", "feedback": feedback["id"],
        "credential": credentials["items"][0]["id"],
    }


@pytest.mark.timeout(SECONDS + 300)
def test_the_gateway_keeps_to_its_contract(gateway):
    place = folder("contract")
    program = str(pathlib.Path(sys.executable).parent / "schemathesis")
    environment = {
        "PATH": SEARCH_PATH, "HOME": str(place), "SCHEMATHESIS_HOOKS": "contract_hooks", "PYTHONPATH": str(INTEROP),
        "CARILLON_CONTRACT_KNOWN": json.dumps(gateway.known), "NO_COLOR": "1",
    }
    done = subprocess.run(
        [program, "--config-file", str(INTEROP / "schemathesis.toml"), "run", str(ROOT / "docs/openapi.yaml"), "--url", gateway.url, "--checks", ",".join(CHECKS),
         "--phases", PHASES,
         "-H", f"Authorization: Bearer {gateway.KEY}", "--max-time", str(SECONDS), "--seed", SEED,
         "--request-timeout", "30", "--continue-on-failure", "--suppress-health-check", "all", "--warnings", "off"],
        cwd=place, env=environment, capture_output=True, text=True, timeout=SECONDS + 200, check=False)
    shutil.rmtree(place, ignore_errors=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-2000:]
    assert gateway.process.poll() is None
    operations = re.search(r"Selected:\s+(\d+)/(\d+)\s+Tested:\s+(\d+)", done.stdout)
    assert operations and len(set(operations.groups())) == 1, done.stdout[-2000:]
