#!/bin/sh
data=/var/lib/postgresql/data/15
rm -f "$data/postmaster.pid" # of a container that was killed: another process may have its number here
exec postgres -D "$data" -c jit=off -c listen_addresses='*' -c unix_socket_directories=/tmp
