#!/bin/sh
cd /opt/thinking/gui || exit 1
kill "$(cat gui.pid)"
rm -f gui.pid
