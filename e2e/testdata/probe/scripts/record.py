"""Writes to /record/NAME that it is ready, that it got TERM, and, so many seconds later, that it ends.

record.py NAME SECONDS [CHILD]; with CHILD it starts another that it ends itself, once it got TERM.
"""

import signal
import subprocess
import sys
import time

name, seconds, *child = sys.argv[1:]
record = open(f"/record/{name}", "w", buffering=1)
children = [subprocess.Popen([sys.executable, __file__, c, "0"], start_new_session=True) for c in child]


def end():
    print("TERM", time.time(), file=record)
    for c in children:
        c.kill()
        c.wait()
    time.sleep(float(seconds))
    print("end", time.time(), file=record)
    sys.exit(0)


# A handler would not run before the next signal, had TERM come just before signal.pause.
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("ready", time.time(), file=record)
signal.sigwait([signal.SIGTERM])
end()
