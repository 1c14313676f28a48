#!/bin/sh
# At least once is promised, exactly once is not: a migration has to stand being repeated.
[ -e /data/schema ] || echo 1 >/data/schema
echo migrated >>/tmp/ran
