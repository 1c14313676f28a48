#!/bin/sh
export DJANGO_SETTINGS_MODULE=graphite.settings
exec gunicorn --bind 0.0.0.0:8000 --workers 1 --pid /run/gunicorn.pid graphite.wsgi
