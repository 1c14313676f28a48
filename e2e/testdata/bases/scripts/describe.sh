#!/bin/sh
set -e
echo here >made # the folder is the user's
echo "user $(id -u), kept $KEPT"
