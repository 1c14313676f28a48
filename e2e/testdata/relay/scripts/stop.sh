#!/bin/sh
. "$(dirname "$0")/note.sh"
kill "$(cat /tmp/pid)"
