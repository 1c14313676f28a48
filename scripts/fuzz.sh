#!/usr/bin/env bash
# Runs every fuzz target for the duration in the argument (default 10s), one after the other.
# Interesting inputs are minimized with 20 attempts only: by default, go test spends up to a minute on each.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u | while read -r folder; do
	grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$folder"/*_test.go | cut -d' ' -f2 | while read -r target; do
		echo "$folder $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-10s}" -fuzzminimizetime 20x "$folder" </dev/null
	done
done
