#!/bin/bash
# SERVICES chooses the programs; supervisord is a child of this script, which waits for it.
mkdir -p /etc/supervisor/enabled
for service in ${SERVICES:-web queue}; do
	ln -sf "/etc/supervisor/available/$service.conf" /etc/supervisor/enabled/
done
/usr/bin/supervisord -n -c /etc/supervisor/supervisord.conf &
trap 'kill -TERM $!' TERM
wait $!
wait $!
code=$?
echo "supervisord has ended with $code"
exit 7
