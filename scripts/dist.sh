#!/usr/bin/env bash
# dist.sh DIR: builds a release in DIR: archives of toskose, each with unit, manager and operator for linux on
# every architecture, Debian packages, SBOMs and SHA256SUMS. The build is reproducible: the same commit and version of Go
# produce the same bytes. It needs Go, GNU tar, gzip, zip and dpkg-deb.
#
# UNIT_FLAGS are the build flags of the unit, VERSION and COMMIT are printed by `toskose version`, and
# SOURCE_DATE_EPOCH is the time of all files in the archives; the last three default to values from git.
# DIST_PLATFORMS limits the build to some platforms.
set -euo pipefail
out=$1
cd "$(dirname "$0")/.."
platforms=${DIST_PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}
archs='amd64 arm64' # of units, managers and operators
: "${UNIT_FLAGS?}"
: "${VERSION:=$(git describe --tags --always --dirty)}" "${COMMIT=$(git rev-parse --short=12 HEAD)}"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false' GOWORK=off GOAMD64=v1 GOARM64=v8.0 LC_ALL=C TZ=UTC

for tool in go:golang tar:tar gzip:gzip zip:zip dpkg-deb:dpkg; do
	command -v "${tool%%:*}" >/dev/null || {
		echo "dist: ${tool%%:*} is not installed; install it (Debian package ${tool##*:})" >&2
		exit 1
	}
done
tar --version | grep -q GNU || { echo 'dist: tar is not GNU tar' >&2; exit 1; }

mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

say() { echo "dist: $*"; }

build() { # COMMAND OS ARCH FILE
	local flags=()
	[ "$1" != toskose-unit ] || read -ra flags <<<"$UNIT_FLAGS"
	GOOS=$2 GOARCH=$3 go build "${flags[@]}" -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" -o "$4" "./cmd/$1"
}

licenses() { # Licenses of all modules in the programs, and of Go
	local path dir file
	echo 'The programs in this archive contain the software below, each under its own license.'
	{
		for platform in $platforms; do
			GOOS=${platform%/*} GOARCH=${platform#*/} go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/...
		done
		echo "Go $(go env GOROOT)"
	} | sort -u | while read -r path dir; do
		for file in "$dir"/{LICENSE,LICENCE,COPYING,NOTICE,LICENSE.txt,LICENSE.md,NOTICE.txt}; do
			[ -f "$file" ] || continue
			printf '\n================ %s: %s\n\n' "$path" "${file##*/}"
			cat "$file"
		done
	done
}

touched() { # Sets the time of all files in a folder
	find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

archive() { # OS ARCH
	local name=toskose_${VERSION#v}_$1_$2 top=$work/archive exe=
	[ "$1" != windows ] || exe=.exe
	rm -rf "$top" && mkdir -p "$top/$name"
	build toskose "$1" "$2" "$top/$name/toskose$exe"
	cp "$work"/bin/* README.md LICENSE CHANGELOG.md "$work/THIRD-PARTY-LICENSES" "$top/$name/"
	cp -r docs "$top/$name/"
	mkdir "$top/$name/examples" && cp -r examples/thinking "$top/$name/examples/"
	find "$top" -type d -exec chmod 755 {} +
	touched "$top"
	if [ "$1" = windows ]; then
		rm -f "$out/$name.zip"
		(cd "$top" && find "$name" -type f | sort | zip -qX9 "$out/$name.zip" -@)
	else
		tar -C "$top" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner -c "$name" | gzip -9n >"$out/$name.tar.gz"
	fi
	say "$name"
}

package() { # ARCH
	local root=$work/deb name version
	# The version of a commit without a tag must sort before all releases.
	case $VERSION in
	v[0-9]*) version=$(tr - + <<<"${VERSION#v}") ;;
	*) version=0~$(tr - + <<<"$VERSION") ;;
	esac
	name=toskose_${version}_$1
	rm -rf "$root" && mkdir -p "$root/DEBIAN" "$root/usr/share/doc/toskose"
	build toskose linux "$1" "$work/toskose"
	rm -rf "$work/stage" && mkdir "$work/stage" && cp "$work"/bin/* "$work/toskose" "$work/stage/"
	COMPLETIONS=$work/native scripts/install.sh "$work/stage" "$root/usr" "$archs"
	cp README.md "$root/usr/share/doc/toskose/"
	{ cat LICENSE && echo && cat "$work/THIRD-PARTY-LICENSES"; } >"$root/usr/share/doc/toskose/copyright"
	gzip -9n <CHANGELOG.md >"$root/usr/share/doc/toskose/changelog.gz"
	cat >"$root/DEBIAN/control" <<-END
		Package: toskose
		Version: $version
		Architecture: $1
		Maintainer: The Toskose project <toskose@users.noreply.github.com>
		Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f1)
		Recommends: docker.io | docker-ce-cli
		Section: admin
		Priority: optional
		Homepage: https://github.com/toskose/toskose
		Description: manage the components inside an application's containers
		 Toskose packages TOSCA applications for Docker Engine, Swarm, Compose and
		 Kubernetes so that each component is created, configured, started, stopped
		 and deleted on its own, while its neighbors in the same container keep
		 running.
	END
	touched "$root"
	dpkg-deb --root-owner-group -Zgzip -z9 --build "$root" "$out/$name.deb" >/dev/null
	say "$name.deb"
}

sbom() { # COMMAND FILE
	local bom=$out/${1}_${VERSION#v}.cdx.json
	(unset GOOS GOARCH && go tool -modfile=scripts/tools/go.mod cyclonedx-gomod bin -json -noserial -std -version "$VERSION" -output "$work/bom" "$2" 2>"$work/log") || {
		cat "$work/log" >&2
		exit 1
	}
	sed -E "s/^(    \"timestamp\": )\"[^\"]*\"/\1\"$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)\"/" "$work/bom" >"$bom"
	if [ "$1" = toskose-manager ]; then # it embeds Swagger UI, which is not a module
		(unset GOOS GOARCH && go run ./scripts/embedded <"$bom" >"$work/bom") && cp "$work/bom" "$bom"
	fi
	say "${bom##*/}"
}

mkdir "$work/bin"
go build -o "$work/native" ./cmd/toskose
for arch in $archs; do
	for name in toskose-unit toskose-manager toskose-operator; do build $name linux "$arch" "$work/bin/$name-linux-$arch"; done
done
licenses >"$work/THIRD-PARTY-LICENSES"
for platform in $platforms; do
	archive "${platform%/*}" "${platform#*/}"
	[ "${platform%/*}" != linux ] || package "${platform#*/}"
done
build toskose linux amd64 "$work/toskose"
sbom toskose "$work/toskose"
sbom toskose-unit "$work/bin/toskose-unit-linux-amd64"
sbom toskose-manager "$work/bin/toskose-manager-linux-amd64"
sbom toskose-operator "$work/bin/toskose-operator-linux-amd64"
(cd "$out" && rm -f SHA256SUMS && sha256sum -- * >"$work/sums" && cp "$work/sums" SHA256SUMS)
say "$out"
