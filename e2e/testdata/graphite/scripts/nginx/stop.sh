#!/bin/sh
nginx -c /etc/nginx/graphite.conf -s quit
