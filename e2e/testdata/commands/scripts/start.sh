#!/bin/sh
set -e
mkdir -p /www
echo release-one >/www/index.html
[ -e /data/kept ] || echo first >/data/kept
cp /data/kept /www/kept
exec busybox httpd -f -p 8080 -h /www
