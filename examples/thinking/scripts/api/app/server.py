"""The API of Thinking: thoughts over HTTP, kept in Redis.

    GET  /thoughts[?limit=N]  {"thoughts": [...]}, the newest first
    POST /thoughts            {"text": "...", "author": "..."}, returns the thought
    GET  /healthz             200 if the store responds, else 503

usage: server.py CONFIG
"""

import configparser
import json
import logging
import logging.handlers
import signal
import sys
import time
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from resp import StoreError
from thoughts import MAX_LISTED, BadThought, Store, make

MAX_BODY = 16 * 1024


class Refused(Exception):
    """A failed request, with its HTTP status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "Thinking"
    sys_version = ""
    timeout = 30  # seconds until the connection of an idle client is closed

    def do_GET(self):
        self._answer({"/thoughts": self._list, "/healthz": self._health})

    def do_POST(self):
        self._answer({"/thoughts": self._share})

    def _list(self, query):
        limit = query.get("limit", [str(MAX_LISTED)])[-1]
        if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit) <= MAX_LISTED:
            raise Refused(400, f"limit is a number from 1 to {MAX_LISTED}")
        return 200, {"thoughts": self.server.store.newest(int(limit))}

    def _share(self, _query):
        try:
            given = json.loads(self._body())
        except (ValueError, RecursionError):
            raise Refused(400, "the body is not JSON") from None
        try:
            text, author = make(given)
        except BadThought as err:
            raise Refused(422, str(err)) from None
        return 201, self.server.store.add(text, author)

    def _health(self, _query):
        self.server.store.ping()
        return 200, {"status": "ok"}

    def _body(self):
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            self.close_connection = True
            raise Refused(411, "the body's length is missing")
        if int(length) > MAX_BODY:
            self.close_connection = True
            raise Refused(413, f"the body has more than {MAX_BODY} bytes")
        return self.rfile.read(int(length))

    def _answer(self, routes):
        began = time.monotonic()
        url = urlsplit(self.path)
        try:
            route = routes.get(url.path)
            if route is None:
                self.close_connection = True  # the body, if any, is not read
                raise Refused(404, "there is nothing here; thoughts are at /thoughts")
            status, answer = route(parse_qs(url.query))
        except Refused as err:
            status, answer = err.status, {"error": str(err)}
        except StoreError as err:
            status, answer = 503, {"error": str(err)}
        data = json.dumps(answer, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)
        self._record(status, (time.monotonic() - began) * 1000)

    def _record(self, status, ms):
        self.server.log.info(json.dumps({
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "client": self.client_address[0],
            "method": self.command,
            "path": self.path,
            "status": status,
            "ms": round(ms, 1),
        }))

    def log_message(self, format, *args):  # replaced by the request log
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, config):
        self.store = Store(config["store"]["host"], config["store"].getint("port"))
        self.log = logging.getLogger("requests")
        self.log.setLevel(logging.INFO)
        self.log.addHandler(logging.handlers.RotatingFileHandler(
            config["api"]["log"], maxBytes=4 << 20, backupCount=1, encoding="utf-8"))
        super().__init__(("0.0.0.0", config["api"].getint("port")), Handler)


def main(args):
    config = configparser.ConfigParser(interpolation=None)
    config.read(args[-1])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with Server(config) as server:
        print(f"api: listening on port {server.server_port}", flush=True)
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
