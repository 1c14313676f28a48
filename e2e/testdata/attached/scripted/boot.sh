#!/bin/sh
# Makes what the programs need, starts them in order, and adds one that the image does not have.
set -e
echo "preparing"
mkdir -p /var/lib/shop
echo ready >/var/lib/shop/schema
supervisorctl start database
supervisorctl start app
cat >/etc/supervisor/conf.d/extra.conf <<EOF
[program:extra]
command=/bin/sh -c 'echo extra for \$0; exec sleep 300003' shop
stdout_logfile=/var/log/extra.log
EOF
supervisorctl reread
supervisorctl add extra
echo "started"
