#!/bin/sh
set -e

rm -rf "$INPUT_HOME"
echo "api: removed $INPUT_HOME"
