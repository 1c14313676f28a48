#!/bin/sh
set -e
mkdir -p /etc/carbon /var/log/carbon /var/lib/graphite/whisper
cat >/etc/carbon/carbon.conf <<'END'
[cache]
CONF_DIR = /etc/carbon/
STORAGE_DIR = /var/lib/graphite/
LOCAL_DATA_DIR = /var/lib/graphite/whisper/
LOG_DIR = /var/log/carbon/
PID_DIR = /run/
LINE_RECEIVER_INTERFACE = 0.0.0.0
LINE_RECEIVER_PORT = 2003
PICKLE_RECEIVER_PORT = 2004
CACHE_QUERY_INTERFACE = 127.0.0.1
CACHE_QUERY_PORT = 7002
MAX_CREATES_PER_MINUTE = inf
ENABLE_TAGS = False
END
cat >/etc/carbon/storage-schemas.conf <<'END'
[default]
pattern = .*
retentions = 10s:1d
END
