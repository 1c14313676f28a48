#!/usr/bin/env bash
# Runs a separate Podman on this machine, for tests. Its API service has its own network, mount and PID namespaces, so
# stopping the service stops all of its containers. The machine's other containers are not affected.
#
#   podman.sh with root COMMAND...       runs COMMAND in the network of a Podman run by root, then removes the Podman
#   podman.sh with rootless COMMAND...   the same with a Podman run by an unprivileged user
#
# COMMAND gets the environment variables DOCKER_HOST, Podman's socket; TOSKOSE_PODMAN_HOME, a folder that Podman's
# containers can mount; and, for rootless, TOSKOSE_PODMAN_UID, the user.
#
# It needs root, Podman, aardvark-dns and, for rootless, newuidmap and slirp4netns (Debian: podman aardvark-dns uidmap
# slirp4netns). It copies the base images from the machine's Docker engine; stand-in.sh builds them if they cannot be pulled.
set -euo pipefail

uid=10999 # of the unprivileged user; must be unused on this machine
images=(python:3.11-slim redis:7)
here=$(cd "$(dirname "$0")" && pwd)

die() {
	printf 'podman: %s\n' "$*" >&2
	exit 1
}
usage() {
	sed -n '2,14s/^# \{0,1\}//p' "$0"
	exit 2
}

# Runs the service in the new namespaces. By default, Podman sets higher limits than root may set inside a container.
serve() { # DIR KIND
	local d=$1
	mount --make-rprivate /
	ip link set lo up
	cat >"$d/containers.conf" <<-END
		[containers]
		default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
		[engine]
		cgroup_manager = "cgroupfs"
		events_logger = "file"
	END
	if [ "$2" = rootless ]; then
		cp /etc/passwd "$d/passwd" && echo "podman:x:$uid:$uid::$d/home:/bin/sh" >>"$d/passwd" && mount --bind "$d/passwd" /etc/passwd
		cp /etc/group "$d/group" && echo "podman:x:$uid:" >>"$d/group" && mount --bind "$d/group" /etc/group
		echo podman:200000:65536 >"$d/subid" && mount --bind "$d/subid" /etc/subuid && mount --bind "$d/subid" /etc/subgid
		mount -t tmpfs tmpfs "$d/dev"
		mknod -m 666 "$d/dev/tun" c 10 200 && mount --bind "$d/dev/tun" /dev/net/tun
	else
		mount -t tmpfs tmpfs /run
	fi
	cd "$d/home"
	export HOME=$d/home XDG_RUNTIME_DIR=$d/home/run XDG_DATA_HOME=$d/home/data CONTAINERS_CONF=$d/containers.conf
	unset DBUS_SESSION_BUS_ADDRESS
	if [ "$2" = rootless ]; then # without exec: a process that changes its user would outlive its parent
		setpriv --reuid "$uid" --regid "$uid" --clear-groups podman system service --time 0 "unix://$d/home/run/sock"
	else
		exec podman --root "$d/storage" --runroot /run/storage system service --time 0 "unix://$d/home/run/sock"
	fi
}

down() {
	trap - EXIT
	trap '' INT TERM
	kill -9 "$service" 2>/dev/null || true # the kernel kills all processes in its PID namespace
	wait "$service" 2>/dev/null || true
	find /sys/fs/cgroup -depth -path '*/libpod_parent*' -type d -exec rmdir {} + 2>/dev/null || true
	rm -rf "$dir" || { sleep 1 && rm -rf "$dir"; } # killed processes may still be writing
}

# Podman starts helpers from folders that are not in PATH.
has_helper() { # NAME
	local folder
	for folder in /usr/local/libexec/podman /usr/local/lib/podman /usr/libexec/podman /usr/lib/podman; do
		[ ! -x "$folder/$1" ] || return 0
	done
	return 1
}

with() { # KIND COMMAND...
	local kind=$1 code=0 tries=0
	shift
	[ "$(id -u)" = 0 ] || die 'creating networks requires root'
	command -v podman >/dev/null || die 'podman is not installed'
	has_helper aardvark-dns || die 'aardvark-dns is not installed: without it, containers cannot resolve the names of other containers'
	if [ "$kind" = rootless ]; then
		for word in newuidmap slirp4netns; do command -v "$word" >/dev/null || die "$word is not installed"; done
		touch -a /etc/subuid /etc/subgid
	fi
	! command -v go >/dev/null || (cd "$here/.." && go mod download) # COMMAND cannot download modules: it has no Internet access
	"$here/stand-in.sh" "${images[@]}"
	dir=$(mktemp -d /var/tmp/tkpodman.XXXX)
	mkdir -p "$dir/home/run" "$dir/home/data" "$dir/dev"
	chmod 755 "$dir"
	[ "$kind" = root ] || chown -R "$uid:$uid" "$dir/home"
	unshare --net --mount --pid --fork --kill-child --mount-proc "$here/podman.sh" serve "$dir" "$kind" >"$dir/log" 2>&1 </dev/null &
	service=$!
	trap down EXIT
	trap 'exit 130' INT TERM
	local socket=unix://$dir/home/run/sock
	until docker -H "$socket" version >/dev/null 2>&1; do
		tries=$((tries + 1))
		if [ $tries -gt 300 ] || ! kill -0 "$service" 2>/dev/null; then
			cat "$dir/log" >&2
			die 'Podman does not start'
		fi
		sleep 0.1
	done
	docker save "${images[@]}" | docker -H "$socket" load >/dev/null
	export DOCKER_HOST=$socket TOSKOSE_PODMAN_HOME=$dir/home
	[ "$kind" = root ] || export TOSKOSE_PODMAN_UID=$uid
	nsenter --target "$service" --net "$@" || code=$?
	[ "$code" = 0 ] || tail -n 20 "$dir/log" >&2
	exit "$code"
}

case ${1:-} in
serve) [ $# -eq 3 ] || usage && serve "$2" "$3" ;;
with)
	[ $# -gt 2 ] || usage
	case $2 in root | rootless) shift && with "$@" ;; *) usage ;; esac
	;;
*) usage ;;
esac
