#!/bin/sh
exec pg_ctl -D /var/lib/postgresql/data/15 --mode fast stop
