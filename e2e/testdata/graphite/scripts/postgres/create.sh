#!/bin/sh
# The volume may have a database already: of a container that was replaced, or of a backup.
set -e
data=/var/lib/postgresql/data/15
[ ! -e "$data/PG_VERSION" ] || exit 0
mkdir -p "$data"
chown postgres:postgres "$data"
password=$(mktemp)
trap 'rm -f "$password"' EXIT
printf '%s\n' "$INPUT_PASSWORD" >"$password"
chown postgres "$password"
setpriv --reuid postgres --regid postgres --clear-groups \
	initdb --pgdata "$data" --username graphite --pwfile "$password" --auth scram-sha-256 --locale=C --encoding UTF8
printf 'host all all all scram-sha-256\n' >>"$data/pg_hba.conf"
printf '%s\n' 'CREATE DATABASE graphite;' |
	setpriv --reuid postgres --regid postgres --clear-groups postgres --single -j -D "$data" -c jit=off postgres
