#!/bin/sh
set -e
here=$(dirname "$0")

mkdir -p "$INPUT_HOME/run"
cp -r "$here"/app/*.py "$INPUT_HOME/"
echo "api: installed in $INPUT_HOME"
