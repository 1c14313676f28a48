#!/bin/sh
# Stays in the foreground: the component runs as long as this process. There is no stop: the unit ends the process.
exec python3 -m http.server --directory /srv/www 8000
