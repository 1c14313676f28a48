#!/bin/sh
rm -f /run/carbon-cache-a.pid
exec carbon-cache --config=/etc/carbon/carbon.conf --nodaemon start
