#!/bin/sh
# Starts the API in the background, and exits. The unit waits until the API accepts connections.
set -e

cd "$INPUT_HOME"
nohup python3 server.py config.ini &
echo $! >run/api.pid
echo "api: started as process $!"
