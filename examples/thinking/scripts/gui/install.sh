#!/bin/sh
set -e

mkdir -p /opt/thinking/gui
cp -r "$(dirname "$0")/www" "$(dirname "$0")/gui.py" /opt/thinking/gui/
echo "gui: installed"
