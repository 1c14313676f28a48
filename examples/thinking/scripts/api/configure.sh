#!/bin/sh
set -e

mkdir -p "$(dirname "$INPUT_LOG")"
cat >"$INPUT_HOME/config.ini" <<END
[api]
port = $INPUT_PORT
log = $INPUT_LOG

[store]
host = $INPUT_STORE_HOST
port = $INPUT_STORE_PORT
END
echo "api: configured to listen on $INPUT_PORT and to keep thoughts in $INPUT_STORE_HOST:$INPUT_STORE_PORT"
