#!/bin/sh
# A Task runs at least once, not exactly once: a migration must be idempotent.
[ -e /data/schema ] || echo 1 >/data/schema
echo migrated >>/tmp/ran
