#!/usr/bin/env bash
# distcheck.sh DIST: builds the release in DIST again, from a copy of the source in another folder, and compares the
# bytes; then unpacks the archive for this machine and packages Thinking with it, on the Docker engine.
# FRESH=1 disables the build cache for the second build, which takes minutes.
set -euo pipefail
dist=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
bases=(python:3.11-slim redis:7)
made=()
cleanup() {
	made+=($(docker image ls --filter "reference=dist$$-*" --format '{{.Repository}}:{{.Tag}}')) # images with unique tags
	for image in "${made[@]}"; do docker image rm "$image" >/dev/null 2>&1 || true; done
	scripts/stand-in.sh --remove "${bases[@]}" 2>/dev/null || true
	chmod -R u+w "$work"
	rm -rf "$work"
}
trap cleanup EXIT
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

git ls-files -z | tar --null -T - -c | (mkdir "$work/source" && tar -C "$work/source" -x)
[ -z "${FRESH:-}" ] || export GOCACHE=$work/cache
"$work/source/scripts/dist.sh" "$work/dist" >/dev/null
diff "$dist/SHA256SUMS" "$work/dist/SHA256SUMS"
(cd "$dist" && sha256sum -c --quiet SHA256SUMS)
echo "dist: $(wc -l <"$dist/SHA256SUMS") files are identical in the second build"

platform=linux_$(go env GOARCH)
tar -C "$work" -xzf "$dist"/toskose_*_"$platform".tar.gz
cd "$work"/toskose_*_"$platform"
./toskose version
./toskose validate examples/thinking
"$OLDPWD/scripts/stand-in.sh" "${bases[@]}"
app=dist$$
printf 'nodes:\n  backend: {docker: {name: %s-backend}}\n  frontend: {docker: {name: %s-frontend}}\nmanager: {docker: {name: %s-manager}}\n' $app $app $app >toskose.yml
version=$(./toskose --version | awk '{print $2}' | tr -c 'A-Za-z0-9._\n-' -)
for image in $app-{backend,frontend,manager}:latest toskose-{unit,manager}:"$version"; do
	docker image inspect "$image" >/dev/null 2>&1 || made+=("$image")
done
./toskose package -q -o packaged examples/thinking toskose.yml
docker run --rm --entrypoint /toskose/unit/toskose-unit $app-backend:latest check /toskose/unit/supervisord.conf
[ -e packaged/docker-compose.yml ]
echo 'dist: the unpacked archive packages Thinking'

dpkg-deb -x "$dist"/toskose_*_"${platform#linux_}".deb "$work/root"
"$work/root/usr/bin/toskose" package -q -o packaged --contexts "$work/contexts" examples/thinking toskose.yml
[ -s "$work/contexts/backend/toskose.tar" ]
echo 'dist: the Debian package finds the unit in /usr/lib/toskose'
