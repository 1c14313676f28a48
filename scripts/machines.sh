#!/usr/bin/env bash
# Makes machines for clusters of edge machines out of a Kubernetes of several machines on this one, which the command in TOSKOSE_MACHINES
# brings up. Their kubelets are stopped. Each machine gets a name (edge-1, edge-2, ...), a network interface eth1 on a network of their own,
# and empty folders in the place of those that `toskose cluster` and k3s use. This machine is 10.244.244.14 on that network.
#
#   machines.sh up N             bring up N machines
#   machines.sh on K COMMAND...  run a command on machine K, with toskose and the stand-in for k3s in PATH
#   machines.sh name K NAME      give machine K another name
#   machines.sh unplug K         take the link of eth1 down, and plug K: up again
#   machines.sh fresh K          stop the stand-in for k3s, and empty the machine's folders
#   machines.sh down             remove all of it
#
# TOSKOSE_MACHINES_BIN is a folder with toskose and k3sstandin. It needs root.
set -euo pipefail

state=/var/tmp/toskose-machines
bridge=tkedge
folders="/etc/rancher /etc/toskose /etc/cni/multus /etc/systemd/system /var/lib/rancher /var/lib/toskose"
lab=${TOSKOSE_MACHINES:-}

die() {
	printf 'machines: %s\n' "$*" >&2
	exit 1
}
usage() {
	sed -n '2,14s/^# \{0,1\}//p' "$0"
	exit 2
}

# Sets PATH, where the commands of Kubernetes are.
path() {
	eval "$("$lab" env)"
	PATH=${TOSKOSE_MACHINES_BIN:+$TOSKOSE_MACHINES_BIN:}$PATH
	unset KUBECONFIG
}

on() { # K COMMAND...
	local k=$1
	shift
	"$lab" on "$k" env -u KUBECONFIG PATH="$PATH" "$@"
}

# Ends the processes of a name in the namespaces of a machine.
end() { # K NAME
	on "$1" sh -c 'here=$(readlink /proc/self/ns/mnt)
		for p in $(pidof "$1"); do [ "$(readlink "/proc/$p/ns/mnt")" != "$here" ] || kill -9 "$p"; done' sh "$2"
}

up() { # N
	local n=$1 k folder
	down
	"$lab" up "$n"
	path
	mkdir -p "$state"
	echo "$n" >"$state/machines"
	for folder in $folders; do
		[ -d "$folder" ] || echo "$folder" >>"$state/made"
		mkdir -p "$folder"
	done
	ip link add "$bridge" type bridge
	ip address add 10.244.244.14/28 dev "$bridge"
	ip link set "$bridge" up
	iptables -w -I FORWARD -i "$bridge" -j ACCEPT # an engine's policy may be to drop
	for ((k = 1; k <= n; k++)); do
		end "$k" kubelet
		end "$k" kube-proxy
		on "$k" hostname "edge-$k"
		on "$k" ip link add eth1 type veth peer name "tkedge$k" netns 1
		ip link set "tkedge$k" master "$bridge" up
		for folder in $folders; do
			mkdir -p "$state/$k$folder"
			on "$k" mount --bind "$state/$k$folder" "$folder"
		done
	done
}

fresh() { # K
	local folder
	on "$1" k3sstandin wipe
	on "$1" ip address flush dev eth1
	for folder in $folders; do find "$state/$1$folder" -mindepth 1 -delete; done
}

down() {
	local k folder
	[ -d "$state" ] || return 0
	"$lab" down
	for ((k = 1; k <= $(cat "$state/machines" 2>/dev/null || echo 0); k++)); do ip link delete "tkedge$k" 2>/dev/null || true; done
	iptables -w -D FORWARD -i "$bridge" -j ACCEPT 2>/dev/null || true
	ip link delete "$bridge" 2>/dev/null || true
	if [ -e "$state/made" ]; then
		while read -r folder; do rmdir "$folder" 2>/dev/null || true; done <"$state/made"
	fi
	rm -rf "$state"
}

[ -n "$lab" ] || die "TOSKOSE_MACHINES is not set: it is a command that makes a Kubernetes of several machines; see the Makefile"
[ "$(id -u)" = 0 ] || die "root is needed"
case ${1:-} in
up) up "$2" ;;
on) shift && path && on "$@" ;;
name) path && on "$2" hostname "$3" ;;
unplug) ip link set "tkedge$2" down ;;
plug) ip link set "tkedge$2" up ;;
fresh) path && fresh "$2" ;;
down) down ;;
*) usage ;;
esac
