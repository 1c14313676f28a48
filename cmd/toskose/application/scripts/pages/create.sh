#!/bin/sh
# Installs the component: once, before it is configured and started.
set -e

mkdir -p /srv/www
echo "never" >/srv/www/time.txt
