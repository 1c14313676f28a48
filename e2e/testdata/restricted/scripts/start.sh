#!/bin/sh
cat made
exec sleep 1000000
