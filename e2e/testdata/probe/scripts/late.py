#!/usr/bin/env python3
# Listens once it is told to, prints when that was, and ends with what it was asked to.
import os
import socket
import time

print("waiting as", os.getuid(), "of", os.getgid(), flush=True)
while not os.path.exists("/tmp/listen"):
    time.sleep(0.01)
listener = socket.create_server(("127.0.0.1", 8765))
print(f"listening since {time.time()}", flush=True)
while True:
    listener.accept()[0].close()
