#!/bin/sh
# It stands at the archive's root, where the TOSCA document is, too.
exec python3 "$(dirname "$0")/use.py"
