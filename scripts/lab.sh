#!/usr/bin/env bash
# Runs separate Docker engines on this machine, for tests of failing engines, links and machines. Each is a dockerd
# in its own network, PID, mount and UTS namespaces: killing it kills all of its containers, as a power failure does.
# The machine's own engine is not affected.
#
#   lab.sh with N COMMAND...    starts N engines, runs COMMAND in the first one's network, and removes the engines.
#                               Two or more form a swarm, whose manager is the first, with a registry
#
# COMMAND gets the environment variables DOCKER_HOST, the first engine; TOSKOSE_ENGINES, all engines in the format of
# DOCKER_HOST; TOSKOSE_REGISTRIES; and TOSKOSE_LAB, the path of this script. While COMMAND runs:
#
#   lab.sh cut K | mend K       takes the link of engine K down, or up again
#   lab.sh kill K | boot K      simulates a power failure, which keeps the disk; or the boot after it
#   lab.sh on K COMMAND...      runs COMMAND in the network of engine K, which works even while the link is down
#
# It needs root, Docker and Debian's docker-registry. stand-in.sh builds the base images if they cannot be pulled. A
# kernel without IPVS has no virtual IPs: package with --endpoint-mode dnsrr --publish-mode host.
set -euo pipefail

net=10.97.0
port=5000
images=(python:3.11-slim redis:7 busybox:1.36)

say() { printf 'lab: %s\n' "$*" >&2; }
die() {
	say "$*"
	exit 1
}
usage() {
	sed -n '2,18s/^# \{0,1\}//p' "$0"
	exit 2
}

socket() { echo "unix://$TOSKOSE_LAB_DIR/$1/docker.sock"; }
space() { echo "$(basename "$TOSKOSE_LAB_DIR")-$1"; } # the name of a network namespace; 0 is that of the switch

join() { # K: creates a network namespace with a link to the switch
	local k=$1 ns
	ns=$(space "$k")
	ip netns add "$ns"
	ip -n "$(space 0)" link add "link$k" type veth peer name eth0 netns "$ns"
	ip -n "$(space 0)" link set "link$k" master switch up
	ip -n "$ns" addr add "$net.$k/24" dev eth0
	ip -n "$ns" link set eth0 up
	ip -n "$ns" link set lo up
	ip -n "$ns" route add default via "$net.1" # a swarm requires a default route, even an unusable one
}

boot() { # K
	local d=$TOSKOSE_LAB_DIR/$1 tries=0
	rm -f "$d/docker.sock"
	# The shell is PID 1, because dockerd does not reap orphans. Each engine has its own /run, so that engines do not
	# find each other's sockets.
	setsid nsenter --net="/run/netns/$(space "$1")" unshare --mount --uts --pid --fork --kill-child --mount-proc sh -c "
		hostname node$1
		mount --make-rprivate /
		mount --bind $d/resolv.conf /etc/resolv.conf
		mount --rbind /sys/fs/cgroup $d/cgroup && mount -t sysfs sysfs /sys && mount --rbind $d/cgroup /sys/fs/cgroup
		mount -t tmpfs tmpfs /run
		dockerd --config-file $d/daemon.json --data-root $d/data --exec-root /run/docker --pidfile /run/docker.pid \
			-H unix://$d/docker.sock --bridge none &
		wait" >>"$d/log" 2>&1 </dev/null &
	echo $! >"$d/pid"
	disown # keeps bash from reporting that it was killed
	until docker -H "$(socket "$1")" version >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || die "engine $1 does not start; see $d/log"
		sleep 0.1
	done
}

kill_engine() { # K
	local d=$TOSKOSE_LAB_DIR/$1 pid
	[ -s "$d/pid" ] || return 0
	pid=$(cat "$d/pid")
	kill -9 "$pid" 2>/dev/null || true
	while kill -0 "$pid" 2>/dev/null && [ "$(awk '{print $3}' "/proc/$pid/stat" 2>/dev/null)" != Z ]; do sleep 0.05; done
	rm -f "$d/pid"
}

make_engine() { # K
	local d=$TOSKOSE_LAB_DIR/$1
	mkdir -p "$d/cgroup"
	echo 'nameserver 127.0.0.1' >"$d/resolv.conf"
	cat >"$d/daemon.json" <<-END
		{"storage-driver": "$driver", "mtu": 1400, "insecure-registries": ["$net.0/24"],
		 "cgroup-parent": "/$(space "$1")"}
	END
	join "$1"
	boot "$1"
	DOCKER_HOST=$(socket "$1") "$here/stand-in.sh" "${images[@]}"
}

start_registry() {
	command -v docker-registry >/dev/null || die 'docker-registry is not installed; install it (Debian package docker-registry)'
	cat >"$TOSKOSE_LAB_DIR/registry.yml" <<-END
		version: 0.1
		storage: {filesystem: {rootdirectory: $TOSKOSE_LAB_DIR/registry}}
		http: {addr: "$net.1:$port"}
	END
	setsid nsenter --net="/run/netns/$(space 1)" docker-registry serve "$TOSKOSE_LAB_DIR/registry.yml" \
		>"$TOSKOSE_LAB_DIR/registry.log" 2>&1 </dev/null &
	echo $! >"$TOSKOSE_LAB_DIR/registry.pid"
}

up() { # N
	local n=$1 k token
	driver=$(docker info -f '{{.Driver}}') || die 'the Docker engine of this machine does not respond'
	ip netns add "$(space 0)"
	ip -n "$(space 0)" link add switch type bridge
	ip -n "$(space 0)" link set switch up
	for ((k = 1; k <= n; k++)); do make_engine "$k"; done
	[ "$n" -gt 1 ] || return 0
	start_registry
	docker -H "$(socket 1)" swarm init --advertise-addr "$net.1" >/dev/null
	docker -H "$(socket 1)" swarm update --task-history-limit 1000 >/dev/null # keeps exited containers, and so their journals
	token=$(docker -H "$(socket 1)" swarm join-token -q worker)
	for ((k = 2; k <= n; k++)); do docker -H "$(socket "$k")" swarm join --token "$token" "$net.1:2377" >/dev/null; done
}

down() {
	local d group
	trap - EXIT
	trap '' INT TERM
	for d in "$TOSKOSE_LAB_DIR"/[0-9]*; do [ ! -d "$d" ] || kill_engine "${d##*/}"; done
	[ ! -e "$TOSKOSE_LAB_DIR/registry.pid" ] || kill "$(cat "$TOSKOSE_LAB_DIR/registry.pid")" 2>/dev/null || true
	for d in $(ip netns list | awk '{print $1}'); do case $d in "$(space '')"*) ip netns del "$d" ;; esac; done
	for group in /sys/fs/cgroup/"$(space '')"* /sys/fs/cgroup/*/"$(space '')"*; do
		[ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
	done
	rm -rf "$TOSKOSE_LAB_DIR" || { sleep 1 && rm -rf "$TOSKOSE_LAB_DIR"; } # killed processes may still be writing
}

with() { # N COMMAND...
	local n=$1 k code=0
	shift
	[ "$(id -u)" = 0 ] || die 'creating networks and engines requires root'
	! command -v go >/dev/null || (cd "$here/.." && go mod download) # COMMAND cannot download modules: it has no Internet access
	TOSKOSE_LAB_DIR=$(mktemp -d /var/tmp/tklab.XXXX)
	export TOSKOSE_LAB_DIR TOSKOSE_LAB=$here/lab.sh
	trap down EXIT
	trap 'exit 130' INT TERM
	up "$n"
	DOCKER_HOST=$(socket 1) TOSKOSE_REGISTRIES=
	TOSKOSE_ENGINES=$(for ((k = 1; k <= n; k++)); do socket "$k"; done | paste -sd ' ')
	[ "$n" -eq 1 ] || TOSKOSE_REGISTRIES=$net.1:$port
	export DOCKER_HOST TOSKOSE_ENGINES TOSKOSE_REGISTRIES
	nsenter --net="/run/netns/$(space 1)" "$@" || code=$?
	exit "$code"
}

here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 1 ] || usage
[ "$1" = with ] || [ -n "${TOSKOSE_LAB_DIR:-}" ] || die "no lab is running; start one with: lab.sh with N COMMAND..."
case $1 in
with) [ $# -gt 2 ] || usage && shift && with "$@" ;;
cut) ip -n "$(space 0)" link set "link$2" down ;;
mend) ip -n "$(space 0)" link set "link$2" up ;;
kill) kill_engine "$2" ;;
boot) boot "$2" ;;
on) ns=$(space "$2") && shift 2 && exec nsenter --net="/run/netns/$ns" "$@" ;;
*) usage ;;
esac
