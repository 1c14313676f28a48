"""Counts the whisper files, and stores their number in Redis each second."""

import os
import pathlib
import socket
import time

KEY = "graphite:metrics"


def command(*words: str) -> bytes:
    parts = [f"*{len(words)}\r\n"] + [f"${len(word)}\r\n{word}\r\n" for word in words]
    return "".join(parts).encode()


whisper = pathlib.Path(os.environ["INPUT_WHISPER"])
with socket.create_connection((os.environ["INPUT_REDIS"], 6379), timeout=10) as redis:
    while True:
        count = sum(1 for _ in whisper.rglob("*.wsp"))
        redis.sendall(command("SET", KEY, str(count)))
        answer = redis.recv(64)
        if answer != b"+OK\r\n":
            raise SystemExit(f"Redis answers {answer!r}")
        time.sleep(1)
