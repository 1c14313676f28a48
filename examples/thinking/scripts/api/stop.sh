#!/bin/sh
set -e

cd "$INPUT_HOME"
pid=$(cat run/api.pid)
kill "$pid"
tries=0
while kill -0 "$pid" 2>/dev/null; do
	tries=$((tries + 1))
	if [ $tries -ge 80 ]; then
		echo "api: process $pid has not ended" >&2
		exit 1
	fi
	sleep 0.1
done
rm -f run/api.pid
echo "api: stopped process $pid"
