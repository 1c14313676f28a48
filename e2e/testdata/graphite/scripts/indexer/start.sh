#!/bin/sh
exec python3 -u "$(dirname "$0")/indexer.py"
