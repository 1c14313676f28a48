#!/bin/sh
exec graphite-manage migrate --run-syncdb --noinput
