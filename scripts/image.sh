#!/usr/bin/env bash
# image.sh VERSION ARCHS: builds toskose:VERSION from bin/, with units, managers and operators for ARCHS, on the Docker engine.
set -euo pipefail
cd "$(dirname "$0")/.."
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
root=$context/rootfs
mkdir -p "$root"/{tmp,work}
chmod 1777 "$root/tmp" "$root/work" # for any user of the container
scripts/install.sh bin "$root/usr" "$2"
rm -rf "$root/usr/share"
install -D -m 644 LICENSE "$root/usr/share/doc/toskose/copyright"
tar -C "$root" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf "$context/rootfs.tar" tmp work usr
rm -rf "$root"
tag=$(tr -c 'A-Za-z0-9._\n-' - <<<"${1#v}")
docker build -q -f Dockerfile.toskose -t "toskose:$tag" "$context" >/dev/null
echo "toskose:$tag"
