#!/bin/sh
kill "$(cat /run/gunicorn.pid)"
