#!/bin/sh
# Daemons, one of them in a session of its own and one of them two forks away, a short-lived child that
# is left for others to reap, and a main process with a child that it ends by itself.
here=$(cd "$(dirname "$0")" && pwd)
nohup python3 "$here/record.py" daemon 0 >/dev/null 2>&1 &
setsid python3 "$here/record.py" session 0.5 >/dev/null 2>&1 &
(python3 "$here/record.py" grandchild 1 >/dev/null 2>&1 &)
(sh -c 'exit 3' &)
exec python3 "$here/record.py" main 0.2 child
