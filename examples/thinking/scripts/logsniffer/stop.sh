#!/bin/sh
kill "$(cat /opt/thinking/logsniffer/logsniffer.pid)" && rm -f /opt/thinking/logsniffer/logsniffer.pid
