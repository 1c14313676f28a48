#!/bin/sh
exec redis-server --bind 0.0.0.0 --protected-mode no --dir /tmp --save ''
