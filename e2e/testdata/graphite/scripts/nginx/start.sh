#!/bin/sh
exec nginx -c /etc/nginx/graphite.conf
