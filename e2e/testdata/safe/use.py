"""Shows that it has its secrets by their digests, and logs in at the store with one of them."""

import hashlib
import os
import signal
import socket
import sys

for name in ("INPUT_TOKEN", "INPUT_SEED", "INPUT_LOGIN", "INPUT_STORE_PASSWORD", "DB_PASSWORD"):
    print(name, hashlib.sha256(os.environ[name].encode()).hexdigest())
with socket.create_connection(("store", 6379), timeout=60) as store:
    store.sendall(b"AUTH " + os.environ["INPUT_STORE_PASSWORD"].encode() + b"\r\n")
    print("store", store.makefile().readline().strip(), flush=True)
then = os.environ.get("INPUT_THEN")
if then == "stay":
    signal.pause()
sys.exit(7 if then == "fail" else 0)
