#!/bin/sh
# Replaces this process with the log viewer, which stays in the foreground.
cd /opt/thinking/logsniffer || exit 1
echo $$ >logsniffer.pid
exec python3 logsniffer.py config.json
