#!/bin/sh
set -e
mkdir -p /var/lib/nginx
cat >/etc/nginx/graphite.conf <<END
daemon off;
pid /run/nginx.pid;
error_log /dev/stderr;
events {}
http {
	access_log off;
	server {
		listen 80;
		location = /release { return 200 one; }
		location / { proxy_pass http://$INPUT_UPSTREAM; }
	}
}
END
