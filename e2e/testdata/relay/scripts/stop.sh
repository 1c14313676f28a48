#!/bin/sh
. "$(dirname "$0")/note.sh"
exec kill "$(cat /tmp/pid)"
