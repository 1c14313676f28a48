#!/usr/bin/env bash
# Prints the path of golangci-lint VERSION: the installed one if its version matches, otherwise one in build/tools,
# which is installed if it is missing.
set -euo pipefail
version=$1
top=$(cd "$(dirname "$0")/.." && pwd)
own=$top/build/tools/golangci-lint-$version

found=$(command -v golangci-lint || true)
if [ -n "$found" ] && "$found" version --short 2>/dev/null | grep -qx "v\{0,1\}$version"; then
	echo "$found"
	exit
fi
if [ ! -x "$own" ]; then
	echo "golangci-lint $version is missing; installing it in build/tools" >&2
	mkdir -p "$top/build/tools"
	GOBIN=$top/build/tools GOFLAGS='' go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$version" >&2
	mv "$top/build/tools/golangci-lint" "$own"
fi
echo "$own"
