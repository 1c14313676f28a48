#!/bin/sh
# Starts the API in the background, and ends once it takes connections.
set -e

cd "$INPUT_HOME"
nohup python3 server.py config.ini >>run/api.out 2>&1 &
echo $! >run/api.pid

tries=0
until python3 server.py --listening config.ini; do
	tries=$((tries + 1))
	if [ $tries -ge 50 ] || ! kill -0 "$(cat run/api.pid)" 2>/dev/null; then
		echo "api: did not start:" >&2
		tail -n 5 run/api.out >&2
		kill "$(cat run/api.pid)" 2>/dev/null || true
		rm -f run/api.pid
		exit 1
	fi
	sleep 0.1
done
echo "api: started as process $(cat run/api.pid)"
