"""A web page that shows and filters the API's log.

    GET /             the page
    GET /entries      ?q=TEXT&method=METHOD&status=CLASS: {"entries": [...], "matching": N, "read": N}

usage: logsniffer.py CONFIG, a JSON file with the port to listen on and the log to show.
"""

import json
import os
import secrets
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

TAIL = 1 << 20  # bytes read from the end of the log
SHOWN = 300  # maximum number of entries in a response


def tail(path):
    """Returns the last lines of a log, or none if it does not exist yet."""
    try:
        with open(path, "rb") as log:
            start = max(0, log.seek(0, os.SEEK_END) - TAIL)
            log.seek(start)
            lines = log.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []
    return lines[1:] if start else lines  # the first line is probably incomplete


def entry(line):
    try:
        parsed = json.loads(line)
    except ValueError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {"path": line}


def matches(one, q, method, status):
    if method and one.get("method") != method:
        return False
    if status and not str(one.get("status", "")).startswith(status):
        return False
    return q.lower() in " ".join(str(v) for v in one.values()).lower()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "logsniffer"
    sys_version = ""
    timeout = 30

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/":
            self._page()
        elif url.path == "/entries":
            self._entries({k: v[-1] for k, v in parse_qs(url.query).items()})
        else:
            self._send(404, "text/plain; charset=utf-8", b"there is nothing here\n")

    def _page(self):
        nonce = secrets.token_urlsafe(16)
        page = self.server.page.replace("NONCE", nonce).encode()
        self._send(200, "text/html; charset=utf-8", page, {
            "Content-Security-Policy": f"default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; "
                                       f"style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; frame-ancestors 'none'",
        })

    def _entries(self, query):
        every = [entry(line) for line in tail(self.server.log_path)]
        wanted = [e for e in every
                  if matches(e, query.get("q", ""), query.get("method", ""), query.get("status", ""))]
        answer = {"entries": wanted[:-SHOWN - 1:-1], "matching": len(wanted), "read": len(every)}
        self._send(200, "application/json; charset=utf-8", json.dumps(answer).encode())

    def _send(self, status, kind, data, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format, *args):  # the log viewer does not log requests
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True


def main(config_path):
    config = json.loads(Path(config_path).read_text())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with Server(("0.0.0.0", config["port"]), Handler) as server:
        server.page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
        server.log_path = config["log"]
        print(f"logsniffer: showing {config['log']} on port {config['port']}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
