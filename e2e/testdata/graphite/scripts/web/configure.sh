#!/bin/sh
# Graphite imports its settings from this file. Scripts that run Graphite get the secrets.
set -e
exec 9>/run/graphite-configure.lock
flock 9 # two components are configured by this script, at the same time
mkdir -p /etc/graphite /var/log/graphite
cp "$(dirname "$0")/local_settings.py" /etc/graphite/local_settings.py
ldconfig # as the packages of libraries do when they are installed; Graphite loads Cairo by its name
