"""The web page of Thinking. It serves the files of one folder, and forwards requests below /api/ to the API.

usage: gui.py PORT API_URL FOLDER
"""

import json
import signal
import sys
from functools import partial
from http.client import HTTPConnection, HTTPException
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

MAX_BODY = 16 * 1024


class Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "Thinking"
    sys_version = ""
    timeout = 30

    def __init__(self, *args, api, **kwargs):
        self._api = api
        super().__init__(*args, **kwargs)

    def do_GET(self):
        if self.path.startswith("/api/"):
            self._hand_on(None)
        else:
            super().do_GET()

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not self.path.startswith("/api/"):
            self._refuse(404, "there is nothing here")
        elif not length.isascii() or not length.isdigit():
            self._refuse(411, "the body's length is missing")
        elif int(length) > MAX_BODY:
            self._refuse(413, f"the body has more than {MAX_BODY} bytes")
        else:
            self._hand_on(self.rfile.read(int(length)))

    def _hand_on(self, body):
        connection = HTTPConnection(self._api.hostname, self._api.port, timeout=10)
        try:
            connection.request(self.command, self.path[len("/api"):], body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            self._send(answer.status, answer.read())
        except (OSError, HTTPException) as err:
            self._send(502, json.dumps({"error": f"the API does not answer: {err}"}).encode())
        finally:
            connection.close()

    def _refuse(self, status, message):
        self.close_connection = True  # the body is not read
        self._send(status, json.dumps({"error": message}).encode())

    def _send(self, status, data):
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def end_headers(self):
        self.send_header("Content-Security-Policy",
                         "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def list_directory(self, path):
        self.send_error(404, "there is nothing here")

    def log_message(self, format, *args):  # the API logs the requests
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True


def main(port, api, folder):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with Server(("0.0.0.0", int(port)), partial(Handler, api=urlsplit(api), directory=folder)) as server:
        print(f"gui: listening on port {port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
