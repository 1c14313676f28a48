#!/bin/sh
# Ends what start left. Whatever is still there after the grace of ten seconds, the unit ends.
kill "$(cat /tmp/clock.pid)"
