"""docs/openapi.yaml itself: what generators and readers of the document rely on. No case starts a program."""

import re

import jsonschema_rs
import pytest
import yaml
from support import ROOT

DOCUMENT = yaml.safe_load((ROOT / "docs/openapi.yaml").read_text(encoding="utf-8"))
METHODS = {"get", "put", "post", "patch", "delete"}
OPERATIONS = {
    operation["operationId"]: operation
    for path in DOCUMENT["paths"].values() for method, operation in path.items() if method in METHODS}


def resolved(node):
    while "$ref" in node:
        reference, node = node["$ref"], DOCUMENT
        for name in reference.removeprefix("#/").split("/"):
            node = node[name]
    return node


def bodies(operation):
    """The place, media type and content of the request and of each answer."""
    places = {"request": operation.get("requestBody", {}), **operation["responses"]}
    for place, body in places.items():
        for media_type, content in resolved(body).get("content", {}).items():
            yield place, media_type, content


def examples(content):
    """The examples of a body: its own, or else those of its schema."""
    if "example" in content:
        return [content["example"]]
    if "examples" in content:
        return [resolved(example)["value"] for example in content["examples"].values()]
    return resolved(content["schema"]).get("examples", [])


def faults(schema, value):
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/body", "body": schema,
        "components": DOCUMENT["components"]}
    found = jsonschema_rs.validator_for(whole, validate_formats=True).iter_errors(value)
    return [(list(fault.instance_path), fault.message) for fault in found]


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_body_has_examples_that_fit_its_schema(name):
    for place, media_type, content in bodies(OPERATIONS[name]):
        shown = examples(content)
        assert shown, f"{place}, {media_type}: no example"
        for example in shown:
            assert faults(content["schema"], example) == [], f"{place}, {media_type}: {example}"


def test_an_example_that_does_not_fit_is_found():
    schema = {"$ref": "#/components/schemas/NewApp"}
    assert faults(schema, {"slug": "weather", "name": "Weather"}) == []
    assert faults(schema, {"slug": "No Slug", "name": "Weather"}) and faults(schema, {"slug": "weather"})


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_body_has_a_named_schema_and_each_refusal_a_shared_one(name):
    for place, media_type, content in bodies(OPERATIONS[name]):
        schema = content["schema"].get("$ref", "").removeprefix("#/components/schemas/")
        if place.isdigit() and int(place) >= 400:
            assert schema == ("Problem" if media_type == "application/problem+json" else "WakeUpStatus"), place
        elif "json" in media_type:
            assert schema, f"{place}, {media_type}: no named schema"


def test_each_operation_has_a_tag_and_a_name_in_camel_case():
    tags = {tag["name"] for tag in DOCUMENT["tags"]}
    for name, operation in OPERATIONS.items():
        assert re.fullmatch(r"[a-z]+([A-Z][a-z]+)*", name) and set(operation["tags"]) <= tags, name
        assert len(operation["tags"]) == 1, name
