#!/bin/sh
# Stays in the foreground, as the parent of the server.
cd /opt/thinking/gui || exit 1
. ./gui.conf
python3 gui.py "$port" "$api" www &
echo $! >gui.pid
wait $!
