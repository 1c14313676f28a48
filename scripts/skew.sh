#!/bin/bash
# skew.sh RELEASE [COMMAND…]: build another version's binaries beside those of this one, and run COMMAND with
# TOSKOSE_SKEW_NOW and TOSKOSE_SKEW_BEFORE, the folders that have them, and TOSKOSE_SKEW_RELEASE, the other version. RELEASE is a
# tag or a commit; it is fetched if this clone lacks it.
set -euo pipefail
release=${1:?usage: skew.sh RELEASE [COMMAND…]}
shift
here=$PWD

# missing says that there is no such version, and what to do.
missing() {
	echo "skew: there is no $release in this clone, and it cannot be fetched from origin" >&2
	if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
		echo 'skew: the clone is shallow; the release before is further back than it goes: git fetch --unshallow --tags' >&2
	fi
	exit 1
}

commit=$(git rev-parse --verify --quiet "$release^{commit}") || {
	git fetch --quiet --depth 1 origin "$release" 2>/dev/null || missing
	commit=$(git rev-parse --verify --quiet 'FETCH_HEAD^{commit}') || missing
}

# The version is one that nobody else has, so that images of these binaries are told from a user's.
before=$here/build/skew/$commit
if [ ! -x "$before/toskose" ]; then # the last that is put there
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
