#!/bin/bash
# skew.sh RELEASE: build another version's binaries beside those of this one, and run command line, manager and units
# of both in all combinations. RELEASE is a tag or a commit; its history is fetched if this clone lacks it.
set -euo pipefail
release=${1:?usage: skew.sh RELEASE}
here=$PWD
git cat-file -e "$release^{commit}" 2>/dev/null || git fetch --quiet --depth 1 origin "$release:refs/tags/$release" 2>/dev/null ||
	git fetch --quiet --depth 1 origin "$release" || { echo "skew: there is no $release here or at origin" >&2; exit 1; }
commit=$(git rev-parse --verify --quiet "$release^{commit}" || git rev-parse FETCH_HEAD)
before=$here/build/skew/$commit
if [ ! -x "$before/toskose-unit" ]; then
	tree=$(mktemp -d)
	trap 'git worktree remove --force "$tree/src" 2>/dev/null || true; rm -rf "$tree"' EXIT
	git worktree add --quiet --detach "$tree/src" "$commit"
	make -C "$tree/src" build BIN="$before"
fi
make build BIN="$here/build/skew/now"
TOSKOSE_SKEW_NOW=$here/build/skew/now TOSKOSE_SKEW_BEFORE=$before go run ./scripts/gotest -tags skew -count=1 -timeout 15m ./e2e/skew
