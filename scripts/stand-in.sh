#!/usr/bin/env bash
# Builds a stand-in for a public base image from Debian packages, for an engine that can neither find nor
# pull the image. A stand-in has the name of the public image and the label io.toskose.stand-in=true. The
# script reports each new stand-in on standard error.
#
#   stand-in.sh IMAGE...            pulls each missing IMAGE, or builds a stand-in if it cannot be pulled
#   stand-in.sh --remove IMAGE...   removes each IMAGE that is a stand-in, and no other images
#
# It supports python:3.11-slim, redis:7, nginx:1.22, postgres:15, debian:bookworm-slim and busybox:1.36, and two images for
# tests, which cannot be pulled: supervisord:test, a Debian with supervisor, nginx, PHP-FPM and cron, and graphite:test, one
# with Graphite and gunicorn. It does not need root: apt uses separate folders below build/stand-ins, which cache packages
# and images. Maintainer scripts of packages are not run. The stand-in for debian:bookworm-slim has Debian's essential
# packages, except those that install other packages: no dpkg, no apt, no perl. The one for postgres:15 cannot compile
# queries: run it with jit=off.
set -euo pipefail

label=io.toskose.stand-in
top=$(cd "$(dirname "$0")/.." && pwd)
cache=${TOSKOSE_STAND_INS:-$top/build/stand-ins}

say() { printf 'stand-in: %s\n' "$*" >&2; }
die() {
	say "$@"
	exit 1
}
usage() {
	sed -n '2,14s/^# \{0,1\}//p' "$0"
	exit 2
}

have() { docker image inspect "$1" >/dev/null 2>&1; }
is_stand_in() { [ "$(docker image inspect -f "{{index .Config.Labels \"$label\"}}" "$1" 2>/dev/null)" = true ]; }

# The packages of every stand-in based on Debian, on which scripts rely.
base=(base-files base-passwd bash coreutils dash debianutils findutils grep gzip hostname libc-bin mawk sed tar util-linux)

# Only maintainer scripts, which are not run, PostgreSQL's wrappers in Perl and its compiler of queries need these packages.
unneeded='^(adduser|debconf|dpkg|init-system-helpers|lib(file|ipc|json|number|text)-.*perl|libllvm.*|libperl5.*|libgdbm.*|libpam-modules.*|libsem.*|libsepol.*|libz3-.*|lsb-base|passwd|perl.*|postgresql(-client)?-common|ssl-cert|sysvinit-utils|usrmerge)_'

packages() {
	case $1 in
	python:3.11-slim) echo "${base[*]} python3-minimal libpython3-stdlib" ;;
	redis:7) echo "${base[*]} redis-server" ;;
	nginx:1.22) echo "${base[*]} nginx-light" ;;
	postgres:15) echo "${base[*]} postgresql-15" ;;
	debian:bookworm-slim) echo "${base[*]} bsdutils diffutils login ncurses-base ncurses-bin" ;;
	busybox:1.36) echo busybox-static ;;
	supervisord:test) echo "${base[*]} supervisor nginx-light php-fpm cron procps" ;;
	graphite:test) echo "${base[*]} graphite-web graphite-carbon gunicorn python3-psycopg2" ;;
	*) die "$1 has no stand-in; get it with \"docker pull $1\", or \"docker load\" from a machine that has it" ;;
	esac
}

changes() { # Prints the configuration of the public image, one Dockerfile instruction per line
	echo "LABEL $label=true"
	echo 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
	case $1 in
	python:3.11-slim) printf '%s\n' 'ENV LANG=C.UTF-8' 'CMD ["python3"]' ;;
	redis:7) printf '%s\n' 'WORKDIR /data' 'VOLUME /data' 'EXPOSE 6379' \
		'CMD ["redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--dir", "/data"]' ;;
	nginx:1.22) printf '%s\n' 'EXPOSE 80' 'CMD ["nginx", "-g", "daemon off;"]' ;;
	postgres:15) printf '%s\n' 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/15/bin' \
		'ENV PGDATA=/var/lib/postgresql/data' 'VOLUME /var/lib/postgresql/data' 'EXPOSE 5432' 'CMD ["postgres"]' ;;
	debian:bookworm-slim | graphite:test) echo 'CMD ["bash"]' ;;
	busybox:1.36) echo 'CMD ["sh"]' ;;
	supervisord:test) echo 'CMD ["supervisord", "-n"]' ;;
	esac
}

finish() { # Creates the files that maintainer scripts and the build of the public image would create
	local image=$1 root=$2 applet
	if [ "$image" = busybox:1.36 ]; then
		printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n' >"$root/etc/passwd"
		printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
		for applet in $("$root/usr/bin/busybox" --list); do [ -e "$root/usr/bin/$applet" ] || ln -s busybox "$root/usr/bin/$applet"; done
		return
	fi
	cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
	cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
	[ -e "$root/usr/bin/sh" ] || ln -s dash "$root/usr/bin/sh"
	ln -sf mawk "$root/usr/bin/awk"
	case $image in
	python:3.11-slim)
		mkdir -p "$root/usr/local/bin"
		ln -sf /usr/bin/python3 "$root/usr/local/bin/python3"
		ln -sf /usr/bin/python3 "$root/usr/local/bin/python"
		;;
	redis:7) mkdir -p "$root/data" ;;
	postgres:15)
		echo 'postgres:x:999:999::/var/lib/postgresql:/bin/bash' >>"$root/etc/passwd"
		echo 'postgres:x:999:' >>"$root/etc/group"
		mkdir -p "$root/var/lib/postgresql/data"
		;;
	esac
}

apt() { # Runs apt-get as on a machine without installed packages
	apt-get -qq -o Acquire::Retries=5 -o Dir::State::status="$cache/status" -o Dir::State::extended_states="$cache/extended" \
		-o Dir::Cache="$cache/apt" -o Debug::NoLocking=1 -o APT::Install-Recommends=false -o APT::Sandbox::User= \
		"${lists[@]}" "$@"
}

resolve() { # PACKAGE...: downloads packages and their dependencies, and prints the file names
	# --print-uris omits packages that are already downloaded, so its archive folder is always empty.
	apt -o Dir::Cache::archives="$cache/none" --print-uris install "$@" >"$cache/uris" &&
		apt -o Dir::Cache::archives="$cache/archives" --download-only install "$@" >&2 &&
		awk '{print $2}' "$cache/uris" | grep -Ev "$unneeded"
}

digest() { cat - "$0" | sha256sum | cut -c 1-16; } # of standard input and of this script

make_image() { # IMAGE PACKED
	local image=$1 packed=$2 line args=()
	while read -r line; do args+=(-c "$line"); done < <(changes "$image")
	docker import "${args[@]}" - "$image" <"$packed" >/dev/null
}

pack() { # Unpacks the packages on standard input into a cached archive of the image's files
	local image=$1 packed=$2 root file
	root=$(mktemp -d "$cache/root.XXXXXX")
	# shellcheck disable=SC2064 # expand the name now, not at exit
	trap "rm -rf '$root'" EXIT
	chmod 755 "$root"
	mkdir -p "$root"/usr/{bin,sbin,lib,lib64,lib32,libx32} "$root"/{dev,etc,proc,sys,tmp,run,root}
	for file in bin sbin lib lib64 lib32 libx32; do ln -s "usr/$file" "$root/$file"; done
	chmod 1777 "$root/tmp"
	while read -r file; do
		dpkg-deb --fsys-tarfile "$cache/archives/$file" |
			tar -x -C "$root" --keep-directory-symlink --no-same-owner \
				--exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' \
				--exclude='./usr/share/info/*' --exclude='./usr/share/lintian/*' --exclude='./lib/systemd/*'
	done
	finish "$image" "$root"
	rm -f "$cache/${image/:/-}"-*.tar
	tar -C "$root" --owner=0 --group=0 --numeric-owner --sort=name -cf "$packed.new" .
	mv "$packed.new" "$packed"
	rm -rf "$root"
	trap - EXIT
}

possible() { # Does this machine run Debian on the engine's architecture?
	# shellcheck disable=SC1091
	[ "$(. /etc/os-release 2>/dev/null && echo "${ID:-}")" = debian ] || return 1
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
	case $(docker version -f '{{.Server.Arch}}') in
	"$(dpkg --print-architecture)") ;;
	arm) [ "$(dpkg --print-architecture)" = armhf ] ;;
	ppc64le) [ "$(dpkg --print-architecture)" = ppc64el ] ;;
	*) return 1 ;;
	esac
}

asked() { # Digest of everything that apt's result depends on
	{ echo "$1" && { stat -c "%n %Y %s" /var/lib/apt/lists/* "$cache"/lists/* 2>/dev/null || :; }; } | digest
}

stand_in() {
	local image=$1 names wanted packed last
	wanted=$(packages "$image")
	possible || die "$image cannot be pulled, and a stand-in can only be built on Debian with the engine's architecture; get it with \"docker pull $image\", or \"docker load\" from a machine that has it"
	mkdir -p "$cache"/{apt,archives/partial,none/partial,lists/partial}
	exec 9>"$cache/lock" && flock 9 # until the script ends: another one would use the same files
	last=$cache/${image/:/-}.last # the digest of the last request, and the archive built from its result
	packed=$([ ! -e "$last" ] || sed -n "s/^$(asked "$wanted") //p" "$last")
	if [ ! -e "$packed" ]; then
		: >"$cache/status"
		lists=()
		# shellcheck disable=SC2086 # a list of words
		if ! names=$(resolve $wanted 2>"$cache/log"); then
			lists=(-o "Dir::State::Lists=$cache/lists") # the machine's package lists are missing or outdated
			apt update 2>>"$cache/log" || true          # if it fails, the next line fails, too
			names=$(resolve $wanted 2>>"$cache/log") ||
				die "cannot build a stand-in for $image from Debian packages: $(grep -m1 '^E:' "$cache/log" || echo "see $cache/log")"
		fi
		packed=$cache/${image/:/-}-$(digest <<<"$names").tar
		[ -e "$packed" ] || pack "$image" "$packed" <<<"$names"
		echo "$(asked "$wanted") $packed" >"$last"
	fi
	make_image "$image" "$packed"
	say "$image can neither be found nor pulled; built a stand-in from Debian packages (${wanted#"${base[*]} "})"
}

[ $# -gt 0 ] || usage
command -v docker >/dev/null || die 'the docker command is not installed; install the Docker client'
docker version >/dev/null 2>&1 || die 'the Docker engine does not respond; "docker version" shows why'

case $1 in
--remove)
	shift
	for image in "$@"; do
		is_stand_in "$image" || continue
		if docker image rm "$image" >/dev/null; then
			say "removed the stand-in for $image"
		else
			say "kept the stand-in for $image: it is in use"
		fi
	done
	;;
-*) usage ;;
*)
	for image in "$@"; do
		have "$image" || docker pull -q "$image" >/dev/null 2>&1 || stand_in "$image"
	done
	;;
esac
