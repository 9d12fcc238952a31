"""Facts about the gateway for schemathesis: the import's media type, and existing resources."""

import json
import os
import zlib

import schemathesis

KNOWN = json.loads(os.environ["CARILLON_CONTRACT_KNOWN"])
# Deleting the app that the other calls use would give them only 404.
KNOWN_TO_DELETE = {"app": "doomed"}


@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    return json.dumps(value).encode() + b"\n"


@schemathesis.deserializer("application/x-ndjson")
def last_line(ctx, response):
    return [json.loads(line) for line in response.content.splitlines()][-1]


@schemathesis.hook
def before_call(context, case, **kwargs):
    """Most calls use existing resources; guessed names would always get 404."""
    deletes_app = case.operation.label == "DELETE /v1/apps/{app}"
    known = KNOWN_TO_DELETE if deletes_app else KNOWN
    lot = zlib.crc32(repr((case.path_parameters, case.query, case.body)).encode())
    for name in list(case.path_parameters or {}):
        lot, keeps = lot // 4, lot % 4 == 0
        if name in known and not keeps:
            case.path_parameters[name] = known[name]
