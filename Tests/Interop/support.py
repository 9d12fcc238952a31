"""Code that the cases share: programs that they start and end, and calls over HTTP."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.parse

INTEROP = pathlib.Path(__file__).resolve().parent
ROOT = INTEROP.parent.parent
PROGRAM = os.environ.get("CARILLON_PROGRAM", str(ROOT / ".build/release/carillon"))
# Debian keeps servers outside an ordinary user's PATH.
SEARCH_PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
# A loaded machine starts programs slowly; no case waits this long otherwise.
START_SECONDS_MAX = 120


def folder(name):
    """A new folder that PostgreSQL's unprivileged user can enter, with a short path for its sockets."""
    path = pathlib.Path(tempfile.mkdtemp(prefix=f"interop-{name}-"))
    path.chmod(0o755)
    return path


class RunEvidence:
    """Files for the search at the end of scripts/test: logs, and the secrets that no log may contain."""

    RUN = os.environ.get("CARILLON_RUN_FOLDER")
    # The members whose strings are tokens, keys or payloads. Strings of a few letters are not searched for.
    MEMBERS = {"token", "p8", "pem", "pkcs12", "password", "private_key", "title", "body"}

    @classmethod
    def secrets(cls, *texts):
        lines = [line for text in texts for line in text.split("\n") if line and not line.startswith("---")]
        if cls.RUN and lines:
            place = pathlib.Path(cls.RUN) / "secrets"
            place.mkdir(exist_ok=True)
            with open(place / "Interop", "a", encoding="utf-8") as out:
                out.writelines(line + "\n" for line in lines)

    @classmethod
    def of_request(cls, value):
        """Adds the secrets of a request."""
        if isinstance(value, list):
            for element in value:
                cls.of_request(element)
        elif isinstance(value, dict):
            cls.secrets(*(text for name, text in value.items() if name in cls.MEMBERS and isinstance(text, str)))
            cls.of_request(list(value.values()))

    @classmethod
    def keep(cls, place):
        """Moves logs and keys out of a folder that is about to be removed."""
        if not cls.RUN:
            return
        told = pathlib.Path(cls.RUN) / "told"
        told.mkdir(exist_ok=True)
        for path in [*place.glob("*"), *place.glob("*/*")]:
            if path.suffix == ".p8" or path.name == "admin-key":
                cls.secrets(path.read_text())
            elif path.suffix == ".log":
                shutil.move(path, told / f"Interop-{place.name}-{path.name}")


class Program:
    """A child process. It inherits few variables, so that the caller's environment has no effect."""

    def __init__(self, arguments, cwd, settings=None, keeps_input=False):
        self.folder = cwd
        self.log = cwd / f"{pathlib.Path(arguments[0]).name}.log"
        inherited = ("HOME", "TMPDIR", "LD_LIBRARY_PATH", "CARILLON_RUN_FOLDER")
        environment = {name: os.environ[name] for name in inherited if name in os.environ}
        environment["PATH"] = SEARCH_PATH
        environment.update(settings or {})
        self.output = cwd / f"{pathlib.Path(arguments[0]).name}.out"
        with open(self.output, "wb") as out, open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                arguments, cwd=cwd, env=environment, stdout=out, stderr=log,
                stdin=subprocess.PIPE if keeps_input else subprocess.DEVNULL)

    def wait_for(self, what, found):
        """The first true answer of `found`. If the program dies before, fails with its output."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            answer = found()
            if answer:
                return answer
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        words = self.output.read_text()[-2000:] + self.log.read_text()[-2000:]
        raise AssertionError(f"{what}: not to be had (ended: {self.process.poll()}): {words}")

    def line(self, beginning):
        """The first line of its output with this beginning."""
        def found():
            lines = self.output.read_text(errors="replace").split("\n")[:-1]
            return next((line for line in lines if line.startswith(beginning)), None)
        return self.wait_for(f"a line that begins with {beginning!r}", found)

    def peak_memory_mib(self):
        """VmHWM: its peak memory."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return 0.0

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
        if self.process.stdin:
            self.process.stdin.close()
        return self.process.wait()


class Caller:
    """Calls one server over one kept connection."""

    def __init__(self, url, ca_file=None, key=None, seconds=60):
        self.url = urllib.parse.urlsplit(url)
        self.key = key
        if self.url.scheme == "https":
            context = ssl.create_default_context(cafile=ca_file)
            self.connection = http.client.HTTPSConnection(
                self.url.hostname, self.url.port, context=context, timeout=seconds)
        else:
            self.connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=seconds)

    def call(self, method, path, body=None, headers=None):
        """Status and body. The body is parsed if its media type is JSON."""
        headers = dict(headers or {})
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        if body is not None and not isinstance(body, (bytes, str)):
            RunEvidence.of_request(body)
            body = json.dumps(body)
            headers.setdefault("content-type", "application/json")
        if isinstance(body, str):
            body = body.encode()
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        content = answer.read()
        kind = answer.getheader("content-type", "")
        self.last_headers = dict(answer.getheaders())
        if "json" in kind and "ndjson" not in kind:
            return answer.status, json.loads(content)
        return answer.status, content

    def expect(self, status, method, path, body=None, headers=None):
        got, content = self.call(method, path, body, headers)
        assert got == status, f"{method} {path}: {got} {content!r}"
        return content

    def close(self):
        self.connection.close()


class StandIn(Program):
    """`carillon simulate`, and its records."""

    def __init__(self, *flags):
        self.identity = folder("stand-in")
        super().__init__([PROGRAM, "simulate", "--identity-dir", str(self.identity), "--json", *flags], self.identity)
        ready = self.identity / "ready.json"
        self.wait_for("ready.json", lambda: ready.exists() and ready.stat().st_size > 0)
        self.told = json.loads(ready.read_text())
        self.ca_file = self.told["ca_file"]
        self.apns_url = self.told["apns_production_url"]
        self.sandbox_url = self.told["apns_sandbox_url"]
        self.fcm_url = self.told["fcm_url"]
        self.project = self.told["fcm_project_id"]
        self.account_file = self.told["fcm_service_account_file"]
        self.apns = Caller(self.apns_url, self.ca_file)
        self.fcm = Caller(self.fcm_url, self.ca_file)

    @property
    def apns_port(self):
        return urllib.parse.urlsplit(self.apns_url).port

    def received(self, caller, token):
        """The pushes that a token received, as the simulator recorded them."""
        return caller.expect(200, "GET", "/simulator/received/" + urllib.parse.quote(token, safe=":"))["pushes"]

    def requests(self, caller, token=None):
        """Every request byte for byte, oldest first."""
        after, kept = 0, []
        while True:
            query = f"?after={after}&limit=1000" + (f"&token={urllib.parse.quote(token)}" if token else "")
            page = caller.expect(200, "GET", "/simulator/requests" + query)
            if not page["requests"]:
                return kept
            kept += page["requests"]
            after = page["after"]

    def reset(self):
        for caller in (self.apns, self.fcm):
            caller.expect(200, "POST", "/simulator/reset")
            caller.expect(200, "DELETE", "/simulator/script")

    def script(self, caller, script):
        return caller.expect(200, "POST", "/simulator/script", script)

    def stop(self):
        self.apns.close()
        self.fcm.close()
        code = super().stop()
        RunEvidence.secrets(json.loads(pathlib.Path(self.account_file).read_text())["private_key"])
        RunEvidence.keep(self.identity)
        shutil.rmtree(self.identity, ignore_errors=True)
        return code


class Gateway(Program):
    """`carillon serve` with a PostgreSQL of its own."""

    KEY = "admin-key-of-an-interop-case-0123456789"

    def __init__(self, **settings):
        self.home = folder("gateway")
        all_settings = {
            "DATA_DIR": str(self.home / "data"), "LISTEN": "127.0.0.1:0", "ADMIN_KEY": self.KEY,
            "ALLOW_PRIVATE_TARGETS": "true", **settings,
        }
        super().__init__(
            [PROGRAM, "serve"], self.home, {"CARILLON_" + name: value for name, value in all_settings.items()})
        self.open()

    def open(self):
        self.url = self.line("carillon is ready on ").split(" ")[-1]
        self.api = Caller(self.url, key=self.KEY)

    def make_app(self, slug):
        self.api.expect(201, "POST", "/v1/apps", {"slug": slug, "name": slug})

    def hand_in(self, slug, credential):
        return self.api.expect(201, "POST", f"/v1/apps/{slug}/credentials", {**credential, "activate": True})

    def send(self, slug, message):
        return self.api.expect(202, "POST", f"/v1/apps/{slug}/messages", message)["id"]

    def finished(self, slug, message, seconds=120):
        """The account of a message that has finished."""
        deadline = time.monotonic() + seconds
        while True:
            account = self.api.expect(200, "GET", f"/v1/apps/{slug}/messages/{message}")
            if account["state"] == "finished":
                return account
            assert time.monotonic() < deadline, f"not finished in {seconds} s: {account}"
            time.sleep(0.05)

    def stop(self):
        self.api.close()
        code = super().stop()
        RunEvidence.secrets(self.KEY)
        RunEvidence.keep(self.home)
        shutil.rmtree(self.home, ignore_errors=True)
        return code


def free_port():
    """A port that was free a moment ago, for programs that can't choose one themselves."""
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
