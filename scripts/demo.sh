#!/usr/bin/env bash
# The demo: packages Thinking from its CSAR, deploys it on the Docker engine, and starts every component through
# the manager.
#
#   demo.sh up      deploys the demo; `make demo` runs it after building bin/ and build/thinking.csar
#   demo.sh down    removes everything that `up` created, and nothing else
#
# GUI_PORT, API_PORT, LOG_PORT and MANAGER_PORT are the ports on this machine; defaults: 8080, 8081, 8082 and
# 10000. TOSKOSE_FLAGS are additional flags for packaging: a swarm on a kernel without IPVS needs
# TOSKOSE_FLAGS='--endpoint-mode dnsrr --publish-mode host'.
set -euo pipefail
cd "$(dirname "$0")/.."

gui_port=${GUI_PORT:-8080} api_port=${API_PORT:-8081} log_port=${LOG_PORT:-8082} manager_port=${MANAGER_PORT:-10000}
dir=build/demo           # the output of toskose
made=build/demo/.made    # images that did not exist before the demo
had=build/demo/.had      # images of Thinking that did
bases=(python:3.11-slim redis:7)

# toskose reads the engine from DOCKER_HOST only; the docker command also reads it from its current context.
if [ -z "${DOCKER_HOST:-}" ] && host=$(docker context inspect -f '{{.Endpoints.docker.Host}}' 2>/dev/null); then
	case $host in unix://* | tcp://*) export DOCKER_HOST=$host ;; esac
fi

say() { printf '\ndemo: %s\n' "$*"; }
die() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

# The images that the demo builds or pulls, unless they exist.
candidates() {
	local version
	version=$(bin/toskose --version | awk '{print $2}' | tr -c 'A-Za-z0-9._\n-' -)
	printf '%s\n' thinking-{backend-toskosed,frontend-toskosed,manager}:latest "toskose-unit:$version" "toskose-manager:$version"
}

names() { # Names of Thinking's images on the engine, including those with unique tags
	docker image ls --filter 'reference=thinking-*' --format '{{.Repository}}:{{.Tag}}' | sort
}

absent() { # Prints the image names on standard input that do not exist
	local image
	while read -r image; do
		docker image inspect "$image" >/dev/null 2>&1 || echo "$image"
	done
}

deployed() { # Is an application with this name on the engine?
	[ -n "$(docker ps -aq --filter label=com.docker.compose.project=thinking)$(
		docker ps -aq --filter label=com.docker.stack.namespace=thinking)" ]
}

free() { # NAME PORT
	if (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null; then
		die "port $2 of this machine is in use; choose another: make demo $1=PORT"
	fi
}

check() {
	command -v docker >/dev/null || die 'the docker command is not installed; install the Docker client'
	docker version >/dev/null 2>&1 || die 'the Docker engine does not respond; "docker version" shows why'
	[ ! -e "$dir" ] || die 'the demo is already deployed; remove it with make demo-down'
	! deployed || die 'the engine already runs an application named thinking, which is not this demo; remove it first'
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
	trap '[ $? = 0 ] || echo "demo: failed; make demo-down removes everything created so far" >&2' EXIT

	say 'pulling missing base images'
	scripts/stand-in.sh "${bases[@]}"

	say 'packaging build/thinking.csar'
	printf 'manager: {port: %s}\n' "$manager_port" >build/demo-toskose.yml
	# shellcheck disable=SC2086 # flags are a list of words
	bin/toskose ${TOSKOSE_FLAGS:-} -o "$dir" -i "gui_port=$gui_port" -i "api_port=$api_port" -i "log_port=$log_port" \
		build/thinking.csar build/demo-toskose.yml

	say 'deploying'
	bin/toskose deploy --timeout 5m "$dir"

	say 'starting the components through the manager'
	for operation in create configure push_default; do
		bin/toskose run --dir "$dir" api "$operation"
	done
	bin/toskose up --dir "$dir" --timeout 5m

	cat <<-END

		Thinking is up.

		  the page          http://localhost:$gui_port
		  the log viewer    http://localhost:$log_port
		  the API's docs    http://localhost:$manager_port/docs

		The manager keeps it running. Kill api inside its container: it is restarted, while logsniffer in the same container keeps running:

		  docker exec \$(docker ps -qf name=thinking.backend) sh -c 'kill -9 \$(cat /opt/thinking/api/run/api.pid)'
		  bin/toskose events --dir $dir
		  bin/toskose wait --dir $dir
		  bin/toskose ps --dir $dir

		Stop api: the manager puts it on hold until you resume it:

		  bin/toskose run --dir $dir api stop
		  bin/toskose goal --dir $dir
		  bin/toskose goal resume --dir $dir

		To remove the demo, run make demo-down.
	END
}

down() {
	docker version >/dev/null 2>&1 || die 'the Docker engine does not respond; "docker version" shows why'
	if [ -e "$dir" ]; then
		remove_demo
	else
		echo 'demo: the demo is not deployed'
	fi
	scripts/stand-in.sh --remove "${bases[@]}"
}

remove_demo() {
	local image
	if [ -e "$dir/docker-compose.yml" ] && [ -x bin/toskose ]; then
		bin/toskose undeploy --volumes "$dir"
	elif deployed; then
		die "$dir or bin/toskose is incomplete, and the demo is still running; run make build, then make demo-down"
	fi
	while read -r image; do
		docker image inspect "$image" >/dev/null 2>&1 || continue
		if docker image rm "$image" >/dev/null; then
			echo "demo: removed image $image"
		else
			echo "demo: kept image $image: it is in use" >&2
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
