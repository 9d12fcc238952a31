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


def parts(schema):
    """The schemas directly inside this one, each under its place."""
    for keyword in ("properties", "allOf", "anyOf", "oneOf"):
        inner = schema.get(keyword, {})
        for name, part in inner.items() if isinstance(inner, dict) else enumerate(inner):
            yield f"{keyword}/{name}", part
    for keyword in ("items", "additionalProperties", "propertyNames", "not"):
        if isinstance(schema.get(keyword), dict):
            yield keyword, schema[keyword]


def walk(place, schema):
    """This schema and all inside it, each under its place. References are not followed."""
    yield place, schema
    for name, part in parts(schema):
        yield from walk(f"{place}/{name}", part)


def components():
    return DOCUMENT["components"]["schemas"].items()


def schemas_of_operations():
    """The schemas of parameters, bodies and headers, each under its place."""
    def inside(node, place):
        for name, part in node.items() if isinstance(node, dict) else enumerate(node):
            if name == "schema":
                yield place, part
            elif isinstance(part, (dict, list)) and name not in ("example", "examples"):
                yield from inside(part, f"{place}/{name}")
    yield from inside(DOCUMENT["paths"], "paths")
    for kind in ("headers", "parameters", "responses"):
        yield from inside(DOCUMENT["components"][kind], kind)


def schemas_of_answers():
    """Every schema that a client reads an answer with, references followed."""
    waiting, known = [], set()
    for name, operation in OPERATIONS.items():
        for status, answer in operation["responses"].items():
            answer = resolved(answer)
            waiting += [(f"{name} {status}", content["schema"]) for content in answer.get("content", {}).values()]
            waiting += [(f"{name} {status}", resolved(header)["schema"]) for header in answer.get("headers", {}).values()]
    while waiting:
        for place, schema in walk(*waiting.pop()):
            reference = schema.get("$ref")
            if reference and reference not in known:
                known.add(reference)
                waiting.append((reference, resolved(schema)))
            yield place, schema


def test_an_answer_may_get_further_members_and_values():
    closed = [
        place for place, schema in schemas_of_answers()
        if {"enum", "const"} & set(schema)
        or False in (schema.get("additionalProperties"), schema.get("unevaluatedProperties"))]
    assert sorted(set(closed)) == []


def test_a_length_in_characters_is_also_one_in_bytes():
    """The gateway counts bytes. So `maxLength` stands only where a pattern excludes characters of more bytes."""
    in_characters = [
        place for place, schema in
        [node for where, whole in [*components(), *schemas_of_operations()] for node in walk(where, whole)]
        if "maxLength" in schema and any(
            re.search(schema.get("pattern", ""), text) for text in ("\u00e9", "a\u00e9", "ab-\u00e9", "ab/c\u00e9", "ab@\u00e9"))]
    assert in_characters == []


def test_no_member_is_null_and_nothing_else():
    alone = [
        place for place, schema in [node for name, whole in components() for node in walk(name, whole)]
        if schema.get("type") == "null" and not re.search("(one|any)Of/[0-9]+$", place)]
    assert alone == []


def test_each_object_enumeration_and_choice_has_a_name():
    def needs_name(schema):
        choices = [part for part in schema.get("oneOf", schema.get("anyOf", [])) if part.get("type") != "null"]
        return "properties" in schema or "enum" in schema or len(choices) > 1

    nameless = [
        place for name, whole in components() for place, schema in walk(name, whole)
        # A part of a named composition has that one's name. A flag of one value needs none.
        if needs_name(schema) and place != name and "allOf/" not in place and schema.get("type") != "boolean"]
    nameless += [
        place for where, whole in schemas_of_operations() for place, schema in walk(where, whole) if needs_name(schema)]
    assert nameless == []
