"""A client for the subset of the Redis protocol (RESP 2) that the API needs."""

import socket


class StoreError(Exception):
    """The store cannot be reached, or returned an error."""


class Connection:
    """One connection to a Redis server. Use it in a with statement, from one thread."""

    def __init__(self, host, port, timeout=3.0):
        self._address = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), timeout)
        except OSError as err:
            raise StoreError(f"cannot reach the store at {self._address}: {err}") from err
        self._reader = self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._reader.close()
        self._socket.close()

    def command(self, *words):
        """Sends one command and returns the response: str, int, list or None."""
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            data = str(word).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
        try:
            self._socket.sendall(b"".join(parts))
            return self._answer()
        except OSError as err:
            raise StoreError(f"the store at {self._address} went away: {err}") from err

    def _answer(self):
        line = self._reader.readline()
        if not line.endswith(b"\r\n"):
            raise StoreError(f"the store at {self._address} closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            raise StoreError(f"the store at {self._address} answered: {rest.decode()}")
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self._bulk(int(rest))
        if kind == b"*":
            return [self._answer() for _ in range(int(rest))]
        raise StoreError(f"the store at {self._address} does not speak RESP")

    def _bulk(self, size):
        if size < 0:
            return None
        data = self._reader.read(size + 2)
        if len(data) != size + 2:
            raise StoreError(f"the store at {self._address} closed the connection")
        return data[:-2].decode()
