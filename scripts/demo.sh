#!/usr/bin/env bash
# The demo: Thinking, packaged from its CSAR, deployed on the engine at hand, and every component brought up
# by the manager.
#
#   demo.sh up      what `make demo` runs, after building bin/ and build/thinking.csar
#   demo.sh down    removes all that `up` made, and nothing else
#
# GUI_PORT, API_PORT, LOG_PORT and MANAGER_PORT choose other ports of this machine than 8080, 8081, 8082 and
# 10000. TOSKOSE_FLAGS are further flags for packaging: a swarm on a kernel without IPVS wants
# TOSKOSE_FLAGS='--endpoint-mode dnsrr --publish-mode host'.
set -euo pipefail
cd "$(dirname "$0")/.."

gui_port=${GUI_PORT:-8080} api_port=${API_PORT:-8081} log_port=${LOG_PORT:-8082} manager_port=${MANAGER_PORT:-10000}
dir=build/demo           # what toskose writes
made=build/demo/.made    # the images that were not there before
had=build/demo/.had      # those that were
bases=(python:3.11-slim redis:7)

# toskose takes the engine from DOCKER_HOST; the docker command may have it from its current context.
if [ -z "${DOCKER_HOST:-}" ] && host=$(docker context inspect -f '{{.Endpoints.docker.Host}}' 2>/dev/null); then
	case $host in unix://* | tcp://*) export DOCKER_HOST=$host ;; esac
fi

say() { printf '\ndemo: %s\n' "$*"; }
die() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

# The images that the demo makes or brings here, unless they are there.
candidates() {
	local version
	version=$(bin/toskose --version | awk '{print $2}' | tr -c 'A-Za-z0-9._\n-' -)
	printf '%s\n' thinking-{backend-toskosed,frontend-toskosed,manager}:latest "toskose-unit:$version" "toskose-manager:$version"
}

names() { # of Thinking's images on the engine, with those that packaging has given a tag of their own
	docker image ls --filter 'reference=thinking-*' --format '{{.Repository}}:{{.Tag}}' | sort
}

absent() { # of the image names on standard input
	local image
	while read -r image; do
		docker image inspect "$image" >/dev/null 2>&1 || echo "$image"
	done
}

deployed() { # is an application of this name on the engine?
	[ -n "$(docker ps -aq --filter label=com.docker.compose.project=thinking)$(
		docker ps -aq --filter label=com.docker.stack.namespace=thinking)" ]
}

free() { # NAME PORT
	if (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null; then
		die "port $2 of this machine is in use; choose another: make demo $1=PORT"
	fi
}

check() {
	command -v docker >/dev/null || die 'there is no docker command; install the Docker client'
	docker version >/dev/null 2>&1 || die 'the Docker engine does not answer; "docker version" says why'
	[ ! -e "$dir" ] || die 'the demo is there already; make demo-down removes it'
	! deployed || die 'an application named thinking, which is not this demo, is on the engine already; remove it first'
	free GUI_PORT "$gui_port"
	free API_PORT "$api_port"
	free LOG_PORT "$log_port"
	free MANAGER_PORT "$manager_port"
}

up() {
	check
	mkdir -p "$dir"
	{ printf '%s\n' "${bases[@]}" && candidates; } | absent >"$made"
	names >"$had"
	trap '[ $? = 0 ] || echo "demo: not finished; make demo-down removes what is there" >&2' EXIT

	say 'the base images, pulled if they are missing'
	scripts/stand-in.sh "${bases[@]}"

	say 'packaging build/thinking.csar'
	printf 'manager: {port: %s}\n' "$manager_port" >build/demo-toskose.yml
	# shellcheck disable=SC2086 # flags are a list of words
	bin/toskose ${TOSKOSE_FLAGS:-} -o "$dir" -i "gui_port=$gui_port" -i "api_port=$api_port" -i "log_port=$log_port" \
		build/thinking.csar build/demo-toskose.yml

	say 'deploying it'
	bin/toskose deploy --timeout 5m "$dir"

	say 'bringing the components up, by the manager'
	for operation in create configure push_default; do
		bin/toskose run --dir "$dir" api "$operation"
	done
	bin/toskose up --dir "$dir" --timeout 5m

	cat <<-END

		Thinking is up.

		  the page          http://localhost:$gui_port
		  the log viewer    http://localhost:$log_port
		  the API's docs    http://localhost:$manager_port/docs

		The manager keeps it so. Kill api inside its container; it is started again, while logsniffer beside it runs on:

		  docker exec \$(docker ps -qf name=thinking.backend) sh -c 'kill -9 \$(cat /opt/thinking/api/run/api.pid)'
		  bin/toskose events --dir $dir
		  bin/toskose wait --dir $dir
		  bin/toskose ps --dir $dir

		Stop api; the manager leaves it alone until it is resumed:

		  bin/toskose run --dir $dir api stop
		  bin/toskose goal --dir $dir
		  bin/toskose goal resume --dir $dir

		make demo-down removes all of it.
	END
}

down() {
	docker version >/dev/null 2>&1 || die 'the Docker engine does not answer; "docker version" says why'
	if [ -e "$dir" ]; then
		remove_demo
	else
		echo 'demo: there is no demo'
	fi
	scripts/stand-in.sh --remove "${bases[@]}"
}

remove_demo() {
	local image
	if [ -e "$dir/docker-compose.yml" ] && [ -x bin/toskose ]; then
		bin/toskose undeploy --volumes "$dir"
	elif deployed; then
		die "$dir or bin/toskose is incomplete, and the demo still runs; make build, then make demo-down"
	fi
	while read -r image; do
		docker image inspect "$image" >/dev/null 2>&1 || continue
		if docker image rm "$image" >/dev/null; then
			echo "demo: removed image $image"
		else
			echo "demo: image $image stays: something else has it in use by now" >&2
		fi
	done < <(names | comm -23 - "$had" | sed -nE '/^thinking-(backend-toskosed|frontend-toskosed|manager):latest-/p'; tac "$made")
	rm -rf "$dir" build/demo-toskose.yml
	echo 'demo: removed'
}

case ${1:-} in
up | down) "$1" ;;
*)
	sed -n '2,10s/^# \{0,1\}//p' "$0"
	exit 2
	;;
esac
