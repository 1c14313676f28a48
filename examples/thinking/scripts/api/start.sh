#!/bin/sh
# Starts the API in the background, and ends. The unit waits until it takes connections.
set -e

cd "$INPUT_HOME"
nohup python3 server.py config.ini &
echo $! >run/api.pid
echo "api: started as process $!"
