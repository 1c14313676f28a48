#!/bin/bash
# skew.sh RELEASE [COMMAND…]: builds the binaries of another version and of this one, and runs COMMAND with their
# folders in TOSKOSE_SKEW_BEFORE and TOSKOSE_SKEW_NOW, and the other version in TOSKOSE_SKEW_RELEASE. RELEASE is a tag or
# a commit; it is fetched if it is missing in this clone.
set -euo pipefail
release=${1:?usage: skew.sh RELEASE [COMMAND…]}
shift
here=$PWD

# missing prints that RELEASE does not exist, and what to do.
missing() {
	echo "skew: $release is not in this clone and cannot be fetched from origin" >&2
	if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
		echo 'skew: the clone is shallow and does not reach back to the previous release; run: git fetch --unshallow --tags' >&2
	fi
	exit 1
}

commit=$(git rev-parse --verify --quiet "$release^{commit}") || {
	git fetch --quiet --depth 1 origin "$release" 2>/dev/null || missing
	commit=$(git rev-parse --verify --quiet 'FETCH_HEAD^{commit}') || missing
}

# A unique version distinguishes the images of these binaries from a user's.
before=$here/build/skew/$commit
if [ ! -x "$before/toskose" ]; then # it is installed last
	tree=$(mktemp -d)
	trap 'rm -rf "$tree"' EXIT
	git archive "$commit" | tar -x -C "$tree"
	make -C "$tree" build BIN="$tree/bin" VERSION="skew-${commit:0:12}" COMMIT="${commit:0:12}"
	mkdir -p "$before"
	mv "$tree"/bin/toskose-* "$before"
	mv "$tree/bin/toskose" "$before"
	rm -rf "$tree"
	trap - EXIT
fi
[ $# != 0 ] || exit 0
make build BIN="$here/build/skew/now"
export TOSKOSE_SKEW_NOW=$here/build/skew/now TOSKOSE_SKEW_BEFORE=$before TOSKOSE_SKEW_RELEASE=$release
exec "$@"
