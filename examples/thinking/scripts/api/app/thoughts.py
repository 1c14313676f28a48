"""Thoughts, stored in a Redis list, the newest first."""

import json
from datetime import datetime, timezone

from resp import Connection

MAX_TEXT = 500
MAX_AUTHOR = 40
MAX_LISTED = 200

_LIST = "thinking:thoughts"
_NEXT = "thinking:next-id"


class BadThought(ValueError):
    """The input is not a valid thought; the message contains the reason."""


def make(given):
    """Validates the input and returns the text and its author."""
    if not isinstance(given, dict):
        raise BadThought("a thought is a JSON object with a text and, if you like, an author")
    text, author = given.get("text"), given.get("author", "")
    if not isinstance(text, str) or not text.strip():
        raise BadThought("a thought needs a text")
    if not isinstance(author, str):
        raise BadThought("the author of a thought is a name")
    if any("\ud800" <= c <= "\udfff" for c in text + author):
        raise BadThought("a thought is text, and half a surrogate pair is none")
    text, author = text.strip(), " ".join(author.split()) or "Anonymous"
    if len(text) > MAX_TEXT:
        raise BadThought(f"a thought has at most {MAX_TEXT} characters")
    if len(author) > MAX_AUTHOR:
        raise BadThought(f"an author's name has at most {MAX_AUTHOR} characters")
    return text, author


class Store:
    """The thoughts in one Redis server. Each call uses a separate connection."""

    def __init__(self, host, port):
        self._host, self._port = host, port

    def ping(self):
        with self._connect() as redis:
            redis.command("PING")

    def newest(self, limit=MAX_LISTED):
        with self._connect() as redis:
            return [json.loads(t) for t in redis.command("LRANGE", _LIST, 0, limit - 1)]

    def add(self, text, author):
        with self._connect() as redis:
            return self._add(redis, text, author)

    def add_missing(self, pairs):
        """Adds the pairs of text and author that are not stored yet, and returns their number."""
        with self._connect() as redis:
            stored = [json.loads(t) for t in redis.command("LRANGE", _LIST, 0, -1)]
            known = {(t["text"], t["author"]) for t in stored}
            missing = [p for p in dict.fromkeys(pairs) if p not in known]
            for text, author in missing:
                self._add(redis, text, author)
            return len(missing)

    def _connect(self):
        return Connection(self._host, self._port)

    @staticmethod
    def _add(redis, text, author):
        thought = {
            "id": redis.command("INCR", _NEXT),
            "text": text,
            "author": author,
            "at": datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        redis.command("LPUSH", _LIST, json.dumps(thought, ensure_ascii=False))
        return thought
