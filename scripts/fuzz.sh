#!/usr/bin/env bash
# Runs every fuzz target for as long as the argument says (10s), one after the other.
# What is interesting is made smaller by a few tries only: by default a minute goes to that, and nothing else is tried.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u | while read -r folder; do
	grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$folder"/*_test.go | cut -d' ' -f2 | while read -r target; do
		echo "$folder $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-10s}" -fuzzminimizetime 20x "$folder" </dev/null
	done
done
