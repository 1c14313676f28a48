#!/bin/sh
set -e

python3 "$INPUT_HOME/push_default.py" "$INPUT_HOME/config.ini" "$INPUT_THOUGHTS"
