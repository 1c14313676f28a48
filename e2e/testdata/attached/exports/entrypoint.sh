#!/bin/sh
# Settings become variables of the programs, and ENABLE_WORKER decides whether one of them starts.
set -e
export DATABASE_URL="postgres://${DB_HOST:-db}/shop?options=100%25" WORKERS="${WORKERS:-2}"
[ "${ENABLE_WORKER:-true}" = true ] || sed -i '/\[program:worker\]/,/^$/s/autostart=.*/autostart=false/' /etc/supervisor/supervisord.conf
exec "$@"
