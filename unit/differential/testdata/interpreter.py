"""Runs supervisord and supervisorctl in forks of one interpreter, which has loaded them.

Usage: interpreter.py SOCKET

Each connection to SOCKET is one run. It sends a JSON object with the program, its arguments,
environment and working directory, along with the descriptors of its standard streams. It receives
the process id and, when the process has ended, its exit status; a negative one is a signal."""

import atexit
import io
import json
import os
import signal
import socket
import sys
import time
import traceback

from supervisor import supervisorctl, supervisord

PROGRAMS = {"supervisord": supervisord.main, "supervisorctl": supervisorctl.main}


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the forks that wait need nobody
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(64)
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            serve(connection)
        connection.close()


def serve(connection):
    """Runs the program of one connection in another fork, and waits for it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    pid = os.fork()
    if pid == 0:
        connection.close()
        run(json.loads(text), streams)
    for stream in streams:
        os.close(stream)
    connection.sendall(b"%d\n" % pid)
    _, status = os.waitpid(pid, 0)
    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def run(request, streams):
    """Becomes the program."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.closerange(3, 256)
    os.chdir(request["dir"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.argv = [request["program"]] + request["args"]
    unbuffered = "PYTHONUNBUFFERED" in request["env"]
    sys.stdin = open(0, closefd=False)
    sys.stdout = io.TextIOWrapper(open(1, "wb", 0 if unbuffered else -1, closefd=False), write_through=unbuffered)
    sys.stderr = io.TextIOWrapper(open(2, "wb", 0, closefd=False), write_through=True, errors="backslashreplace")
    code = 0
    try:
        PROGRAMS[request["program"]]()
    except SystemExit as e:
        if isinstance(e.code, int):
            code = e.code
        elif e.code is not None:
            print(e.code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        pass
    os._exit(code)


main()
