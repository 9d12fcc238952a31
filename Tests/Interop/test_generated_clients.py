"""Clients that generators make from docs/openapi.yaml call a gateway, which sends to the stand-in.

The generators are run by the commands in docs/operations/command-line.md.
"""

import importlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys

import httpx
import pytest
import yaml
from support import ROOT, SEARCH_PATH, Gateway, RunEvidence, StandIn, folder

GENERATION_SECONDS_MAX = 120
SLUG = "weather"
TITLE = "A storm is near the coast"


def command(program):
    """The command of this generator, as the documentation has it."""
    page = (ROOT / "docs/operations/command-line.md").read_text()
    (block,) = re.findall(r"```bash\n(openapi-python-client .*?)```", page, re.DOTALL)
    lines = block.replace("\\\n", " ").splitlines()
    (line,) = [line for line in lines if line.startswith(program + " ")]
    return line.replace("docs/openapi.yaml", str(ROOT / "docs/openapi.yaml")).split()


def generate(program, place):
    """Runs the generator in this folder. Returns what it printed."""
    environment = {"PATH": f"{pathlib.Path(sys.executable).parent}:{SEARCH_PATH}", "HOME": str(place), "NO_COLOR": "1"}
    done = subprocess.run(
        command(program), cwd=place, env=environment, capture_output=True, text=True, timeout=GENERATION_SECONDS_MAX,
        check=False)
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed[-2000:]
    return printed


@pytest.fixture(scope="module")
def place():
    """An importable folder for generated code."""
    path = folder("generated")
    sys.path.insert(0, str(path))
    yield path
    sys.path.remove(str(path))
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def warnings(place):
    """What openapi-python-client printed when it made `carillon_client`."""
    return generate("openapi-python-client", place)


@pytest.fixture(scope="module")
def api(place):
    """What openapi-generator makes: `carillon_api`."""
    generate("openapi-generator-cli", place)
    sys.path.insert(0, str(place / "carillon_api"))
    yield importlib.import_module("carillon_api")
    sys.path.remove(str(place / "carillon_api"))


@pytest.fixture(scope="module")
def models(place):
    assert generate("datamodel-codegen", place) == "", "a warning"
    return importlib.import_module("carillon_models")


@pytest.fixture(scope="module")
def gateway(stand_in_of_module):
    stand_in = stand_in_of_module
    gateway = Gateway(
        APNS_PRODUCTION_URL=stand_in.apns_url, APNS_SANDBOX_URL=stand_in.sandbox_url, FCM_URL=stand_in.fcm_url,
        PROVIDER_CA_FILE=stand_in.ca_file)
    gateway.make_app(SLUG)
    gateway.hand_in(SLUG, {
        "provider": "fcm", "kind": "service_account",
        "service_account": json.loads(pathlib.Path(stand_in.account_file).read_text())})
    yield gateway
    gateway.stop()


def title_at_fcm(stand_in, token):
    """The title of the only push that the stand-in got for this token."""
    (push,) = stand_in.requests(stand_in.fcm, token)
    return json.loads(push["body"])["message"]["notification"]["title"]


def test_openapi_python_client_leaves_no_operation_out(warnings, place):
    document = yaml.safe_load((ROOT / "docs/openapi.yaml").read_text(encoding="utf-8"))
    operations = {
        (operation["tags"][0], re.sub("([A-Z])", r"_\1", operation["operationId"]).lower())
        for path in document["paths"].values() for method, operation in path.items() if method != "parameters"}
    made = {(file.parent.name, file.stem) for file in place.glob("carillon_client/api/*/[!_]*.py")}
    assert made == operations
    # It reads neither YAML nor NDJSON; the bytes of these answers are in `content`.
    warned = set(re.findall(r"WARNING parsing (.*?) within", warnings))
    assert warned == {
        "GET /openapi.yaml", "POST /v1/apps/{app}/devices/import", "POST /v1/apps/{app}/updates"}, warnings
    assert "Unable to process schema" not in warnings, warnings


def test_a_client_of_openapi_python_client_registers_and_sends(warnings, gateway, stand_in):
    from carillon_client import AuthenticatedClient
    from carillon_client.api.devices import import_devices, list_devices, register_device
    from carillon_client.api.messages import read_message, send_message
    from carillon_client.models import (
        Attributes, Audience, BadgeIncrement, DeliveredProvider, LocalTimePassed, MessageOptions, NewMessage, Notification,
        Problem, Registration)
    from carillon_client.types import File

    client = AuthenticatedClient(gateway.url, token=gateway.KEY)
    attributes = Attributes.from_dict({"plan": "pro"})
    registration = Registration(
        provider=DeliveredProvider.FCM, token="tablet-of-anna", user="anna", attributes=attributes)
    RunEvidence.of_request(registration.to_dict())
    device = register_device.sync(SLUG, "tablet", client=client, body=registration)
    assert (device.installation, device.change) == ("tablet", "created")
    assert device.attributes.to_dict() == {"plan": "pro"}

    lines = io.BytesIO(json.dumps({"installation": "watch", "provider": "fcm", "token": "watch-of-bo"}).encode())
    imported = import_devices.sync_detailed(SLUG, client=client, body=File(payload=lines))
    assert json.loads(imported.content.splitlines()[-1])["done"] is True
    assert [device.installation for device in list_devices.sync(SLUG, client=client).items] == ["tablet", "watch"]

    message = NewMessage(
        audience=Audience(users=["anna"]), notification=Notification(title=TITLE), badge=BadgeIncrement.INCREMENT,
        options=MessageOptions(ttl_seconds=600))
    RunEvidence.of_request(message.to_dict())
    accepted = send_message.sync(SLUG, client=client, body=message, idempotency_key="storm-1")
    gateway.finished(SLUG, accepted.id)
    account = read_message.sync(SLUG, accepted.id, client=client)
    assert (account.audience, account.outcomes.accepted, account.progress.ended) == (1, 1, 1)
    assert title_at_fcm(stand_in, "tablet-of-anna") == TITLE

    message.options.local_time_passed = LocalTimePassed.SEND
    refused = send_message.sync_detailed(SLUG, client=client, body=message)
    assert isinstance(refused.parsed, Problem) and refused.status_code == 422
    assert refused.parsed.pointer == "/options/local_time_passed"


def test_models_of_datamodel_code_generator_register_and_send(models, gateway, stand_in):
    def call(method, path, body, answer):
        text = body.model_dump_json(exclude_unset=True) if body else None
        RunEvidence.of_request(json.loads(text or "{}"))
        got = http.request(method, f"/v1/apps/{SLUG}/{path}", content=text)
        return answer.model_validate_json(got.raise_for_status().content)

    key = {"authorization": f"Bearer {gateway.KEY}"}
    with httpx.Client(base_url=gateway.url, headers=key, timeout=60) as http:
        registration = models.Registration(
            provider=models.DeliveredProvider.fcm, token="phone-of-cleo", tags=["storms"],
            attributes=models.Attributes(plan="pro"))
        device = call("PUT", "devices/phone", registration, models.RegisteredDevice)
        assert (device.installation, device.tags, device.change) == ("phone", ["storms"], "created")

        message = models.NewMessage(
            audience=models.Audience(tags=models.TagSelection(any=["storms"])),
            notification=models.Notification(title=TITLE), options=models.MessageOptions(ttl_seconds=600))
        accepted = call("POST", "messages", message, models.Message)
        gateway.finished(SLUG, accepted.id)
        account = call("GET", f"messages/{accepted.id}", None, models.Message)
        assert (account.state, account.outcomes.accepted, account.progress.ended) == ("finished", 1, 1)
        assert title_at_fcm(stand_in, "phone-of-cleo") == TITLE


def test_a_client_of_openapi_generator_registers_and_broadcasts(api, gateway, stand_in):
    # A slug of its own: the broadcast must not reach the devices of the other cases.
    slug = "harbour"
    gateway.make_app(slug)
    gateway.hand_in(slug, {
        "provider": "fcm", "kind": "service_account",
        "service_account": json.loads(pathlib.Path(stand_in.account_file).read_text()), "activate": True})
    with api.ApiClient(api.Configuration(host=gateway.url, access_token=gateway.KEY)) as client:
        registration = api.NewRegistration(provider=api.DeliveredProvider.FCM, token="phone-of-dora", user="dora")
        RunEvidence.of_request(registration.to_dict())
        device = api.DevicesApi(client).register_device(slug, "phone", registration)
        assert (device.installation, device.change) == ("phone", "created")

        message = api.NewMessage(audience=api.Audience(all=True), notification=api.Notification(title=TITLE))
        RunEvidence.of_request(message.to_dict())
        accepted = api.MessagesApi(client).send_message(slug, message)
        gateway.finished(slug, accepted.id)
        account = api.MessagesApi(client).read_message(slug, accepted.id)
        assert (account.state, account.outcomes.accepted, account.progress.ended) == ("finished", 1, 1)
        assert title_at_fcm(stand_in, "phone-of-dora") == TITLE


LATER_PAGE = {
    "items": [{
        "id": "17", "installation": "phone-1", "kind": "hologram", "provider": "pigeon", "verdict": "borrowed",
        "reason": "Unheard", "at": "2031-12-01T12:00:02Z", "a_new_member": {}}],
    "next": None}


def test_each_client_reads_values_and_members_of_a_later_version(warnings, api, models):
    from carillon_client.models import FeedbackPage

    pages = [
        FeedbackPage.from_dict(LATER_PAGE), api.FeedbackPage.from_dict(LATER_PAGE),
        models.FeedbackPage.model_validate(LATER_PAGE)]
    assert [(page.items[0].verdict, page.items[0].provider) for page in pages] == [("borrowed", "pigeon")] * 3
