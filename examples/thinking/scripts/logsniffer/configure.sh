#!/bin/sh
set -e

printf '{"port": %s, "log": "%s"}\n' "$INPUT_PORT" "$INPUT_LOG" >/opt/thinking/logsniffer/config.json
echo "logsniffer: configured to show $INPUT_LOG on port $INPUT_PORT"
