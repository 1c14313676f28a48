#!/usr/bin/env bash
# action.sh is the GitHub Action of action.yml, which sets its variables: it packages ARCHIVE into OUTPUT, packages the same
# archive of the commit BASE, and comments on PULL_REQUEST how the two releases differ. Passwords are in neither.
set -euo pipefail
: "${ARCHIVE:?the archive is missing}" "${OUTPUT:=toskosed}" "${CONFIG:=}" "${FLAGS:=}" "${VERSION:=}" "${COMMENT:=true}"
: "${BASE:=}" "${PULL_REQUEST:=}" "${GITHUB_OUTPUT:=/dev/null}" "${GITHUB_STEP_SUMMARY:=/dev/null}"
work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null || true; rm -rf "$work"' EXIT

# install downloads a release, unless the runner has the command.
install() {
	command -v toskose >/dev/null && return
	[ -n "$VERSION" ] || {
		echo 'toskose is not installed: set the input version' >&2
		exit 1
	}
	local arch
	arch=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
	local name=toskose_${VERSION#v}_linux_$arch
	curl -fsSL "https://github.com/toskose/toskose/releases/download/v${VERSION#v}/$name.tar.gz" | tar -xz -C "$work"
	PATH=$work/$name:$PATH
}

# package packages the archive of a checkout into a folder.
package() { # CHECKOUT FOLDER FLAGS...
	local checkout=$1 folder=$2
	shift 2
	local words=(toskose package --quiet --output-path "$folder" "$@")
	read -r -a flags <<<"$FLAGS"
	words+=("${flags[@]}" "$checkout/$ARCHIVE")
	[ -z "$CONFIG" ] || words+=("$checkout/$CONFIG")
	"${words[@]}"
}

install
toskose validate "$ARCHIVE" ${CONFIG:+"$CONFIG"}
package . "$OUTPUT"
echo "folder=$OUTPUT" >>"$GITHUB_OUTPUT"
[ -n "$BASE" ] || exit 0

git cat-file -e "$BASE^{commit}" 2>/dev/null || git fetch --quiet --depth 1 origin "$BASE"
git worktree add --quiet --detach "$work/base" "$BASE"
marker='<!-- toskose -->'
if [ ! -e "$work/base/$ARCHIVE" ]; then
	changed=true
	printf '%s\n### Toskose: a new application\n' "$marker" >"$work/comment"
else
	package "$work/base" "$work/before" --from "$OUTPUT"
	toskose diff "$work/before" "$OUTPUT" >"$work/diff"
	releases=$(toskose diff -o json "$work/before" "$OUTPUT" | sed -n 's/^  "\(from\|to\)": //p' | tr -d , | sort -u | wc -l)
	changed=$([ "$releases" = 1 ] && echo false || echo true)
	printf '%s\n### Toskose: what this pull request changes\n\n```text\n%s\n```\n' "$marker" "$(cat "$work/diff")" >"$work/comment"
fi
echo "changed=$changed" >>"$GITHUB_OUTPUT"
cat "$work/comment" >>"$GITHUB_STEP_SUMMARY"
[ "$COMMENT" = true ] && [ -n "$PULL_REQUEST" ] || exit 0
gh pr comment "$PULL_REQUEST" --edit-last --body-file "$work/comment" 2>/dev/null ||
	gh pr comment "$PULL_REQUEST" --body-file "$work/comment"
