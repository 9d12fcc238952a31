"""Fixtures, and one line of JSON per case for the count."""

import json
import os

import pytest

from support import StandIn

REPORT = os.environ.get("CARILLON_INTEROP_REPORT")


@pytest.fixture(scope="module")
def stand_in_of_module():
    stand_in = StandIn("--sandbox-port", "0", "--open-streams")
    yield stand_in
    stand_in.stop()


@pytest.fixture
def stand_in(stand_in_of_module):
    """A simulator without any records of earlier cases."""
    stand_in_of_module.reset()
    return stand_in_of_module


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    result = yield
    report = result.get_result()
    decides = report.when == "call" or (report.when == "setup" and not report.passed) or (
        report.when == "teardown" and report.failed)
    if not REPORT or not decides:
        return
    reason = ""
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    elif report.failed:
        reason = report.longreprtext[-2000:]
    file, line_number, _ = item.location
    line = {
        "name": item.nodeid, "file": file, "line": (line_number or 0) + 1, "outcome": report.outcome, "reason": reason,
        "seconds": round(call.duration, 2)}
    line.update(item.user_properties)
    with open(REPORT, "a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")
