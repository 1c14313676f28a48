# `make` lists the targets. What is built goes to bin/ and build/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
ARCH := $(shell go env GOARCH)
# The unit speaks HTTP/1.1 only: without HTTP/2 it is 370 KB smaller.
UNIT_TAGS := nethttpomithttp2
UNIT_FLAGS := -tags $(UNIT_TAGS)
COMMIT ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
PREFIX ?= /usr/local
BIN ?= bin
GOLANGCI := 2.6.2
FUZZTIME ?= 10s
# The packages of both modules: of the product, and of the tests with libraries of their own (go.work). What is shipped is
# built without the latter, by go.mod alone.
PACKAGES := ./... ./e2e/...
OFFLINE_TESTS = $$(go list $(PACKAGES) | grep -v '/e2e$$')
build install dist image cross build/test/toskose-unit build/test/toskose-unit-race: export GOWORK = off

# The architectures that `toskose` finds units and managers for beside itself. The engine's may be another
# than this machine's: make build ARCHS="amd64 arm64".
ARCHS ?= $(ARCH)

# The programs beside `toskose` that make build builds. Tests that need no operator leave it out: it takes a minute to compile.
PROGRAMS ?= toskose-unit toskose-manager toskose-operator

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## bin/toskose, bin/toskose-unit, bin/toskose-manager, bin/toskose-operator
	@mkdir -p $(BIN)
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o $(BIN)/toskose ./cmd/toskose
	@for arch in $(ARCHS); do for name in $(PROGRAMS); do \
		echo "$(BIN)/$$name-linux-$$arch"; \
		flags=; [ "$$name" != toskose-unit ] || flags="$(UNIT_FLAGS)"; \
		CGO_ENABLED=0 GOOS=linux GOARCH=$$arch go build $$flags -trimpath -ldflags "$(LDFLAGS)" -o $(BIN)/$$name-linux-$$arch ./cmd/$$name; \
	done; done
	@for name in $(PROGRAMS); do ln -f $(BIN)/$$name-linux-$(firstword $(ARCHS)) $(BIN)/$$name; done

.PHONY: install
install: build ## toskose, units, managers, operators and completions, below PREFIX (/usr/local)
	scripts/install.sh bin "$(DESTDIR)$(PREFIX)" "$(ARCHS)"

.PHONY: dist
dist: ## what a release has, in build/dist: archives for all platforms, Debian packages, SBOMs, checksums
	@rm -rf build/dist
	@UNIT_FLAGS="$(UNIT_FLAGS)" VERSION=$(VERSION) COMMIT=$(COMMIT) scripts/dist.sh build/dist

# DIST_PLATFORMS=linux/amd64 is the quick form, for either.
.PHONY: test-dist
test-dist: dist ## build the release again, elsewhere, and compare; package Thinking with what was unpacked
	@UNIT_FLAGS="$(UNIT_FLAGS)" VERSION=$(VERSION) COMMIT=$(COMMIT) scripts/distcheck.sh build/dist

.PHONY: image
image: build ## toskose:VERSION, an image of toskose itself for pipelines, on the engine
	@scripts/image.sh "$(VERSION)" "$(ARCHS)"

.PHONY: csar
csar: ## build/thinking.csar, from examples/thinking
	@mkdir -p build
	@go run ./scripts/zipcsar examples/thinking build/thinking.csar

.PHONY: demo
demo: build csar ## package examples/thinking, deploy it and bring every component up
	@scripts/demo.sh up

.PHONY: demo-down
demo-down: ## remove all that `make demo` made
	@scripts/demo.sh down

# The unit that tests run, as it is shipped and with the race detector. go knows whether they are up to date.
.PHONY: build/test/toskose-unit build/test/toskose-unit-race
build/test/toskose-unit:
	@CGO_ENABLED=0 go build $(UNIT_FLAGS) -trimpath -ldflags "-s -w" -o $@ ./cmd/toskose-unit
build/test/toskose-unit-race:
	@CGO_ENABLED=1 go build -race -tags $(UNIT_TAGS) -o $@ ./cmd/toskose-unit

TEST_UNITS := build/test/toskose-unit build/test/toskose-unit-race
# A process with the race detector sleeps for a second when it exits, which is for goroutines that still run then.
# Tests leave none, and there are fifty packages.
test unit-test: export GORACE = atexit_sleep_ms=10
test unit-test: export TOSKOSE_TEST_UNIT = $(CURDIR)/build/test/toskose-unit
test unit-test: export TOSKOSE_TEST_UNIT_RACE = $(CURDIR)/build/test/toskose-unit-race

# Those that take longest are first, and more than two at a time, for they wait much. The time in the environment,
# which e2e reads, has go test run it every time. The linter has done what go vet does. Linking takes a quarter less
# without symbol tables.
.PHONY: test
test: export TOSKOSE_TEST_TIME = $(shell date +%s%N)
test: LINT_FLAGS := -race
test: lint $(TEST_UNITS) ## everything, in about 10 minutes on two cores: lint, unit tests with the race detector, the whole path on a real engine
	go run -race ./scripts/gotest -race -vet=off -ldflags=-s -p 4 -timeout 1h ./e2e ./unit/differential ./cmd/toskose-unit ./packager/... $(PACKAGES)

.PHONY: unit-test
unit-test: $(TEST_UNITS) ## the tests that need no application on an engine
	go run ./scripts/gotest -race -timeout 1h $(OFFLINE_TESTS)

.PHONY: e2e
e2e: ## the whole path on a real engine, with Compose and on a one-node Swarm
	go run ./scripts/gotest -count=1 -timeout 1h ./e2e

# The cluster that kubectl is set to has to have the images: TOSKOSE_LOAD is a command that takes their names
# ("kind load docker-image", "minikube image load"); nothing, where the cluster uses this engine.
.PHONY: e2e-kubernetes
e2e-kubernetes: ## Thinking and Tasks on the cluster that kubectl is set to, by toskose's manifests and through kompose
	go run ./scripts/gotest -tags kubernetes -count=1 -timeout 1h -run Kubernetes\|Kompose ./e2e

# Its base images are made from Debian's packages. GRAPHITE_TAGS=graphite,kubernetes also runs the first half on the cluster
# that kubectl is set to, to which TOSKOSE_LOAD brings the images as above.
GRAPHITE_TAGS ?= graphite
.PHONY: e2e-graphite
e2e-graphite: ## Graphite, nginx, PostgreSQL and Redis on a real engine: killed, out of ports, restored, upgraded and rolled back
	go run ./scripts/gotest -tags $(GRAPHITE_TAGS) -count=1 -timeout 1h -run Graphite ./e2e

# TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD are the programs that these tests start (Kubernetes' envtest).
.PHONY: envtest-operator
envtest-operator: ## the operator's controllers with a real API server: permissions, refusals, columns, states
	go run ./scripts/gotest -tags envtest -count=1 -timeout 10m -run OnAnAPIServer ./operator/controller

# scripts/podman.sh makes each Podman; root, Podman, aardvark-dns, newuidmap and slirp4netns are needed.
.PHONY: e2e-podman
e2e-podman: ## Thinking on a Podman of root, and on one of a user without rights
	scripts/podman.sh with root go run ./scripts/gotest -tags podman -count=1 -timeout 20m -run Podman ./e2e
	scripts/podman.sh with rootless go run ./scripts/gotest -tags podman -count=1 -timeout 20m -run Podman ./e2e

# DOCKER_HOST is a manager of a swarm of three nodes or more. TOSKOSE_REGISTRIES are registries, as HOST:PORT, that
# all nodes pull from: Docker's configuration has the credentials of those that want some. All nodes have redis:7.
# TOSKOSE_ENGINES are the engines of the nodes, as DOCKER_HOST has them: a volume is backed up on another than that.
.PHONY: e2e-swarm
e2e-swarm: ## Thinking over the nodes of DOCKER_HOST's swarm, pulled from each registry of TOSKOSE_REGISTRIES
	go run ./scripts/gotest -tags swarm -count=1 -timeout 30m -run SeveralNodes ./e2e

# TOSKOSE_MACHINES is a command that makes a Kubernetes of several machines on this one, each with a containerd: `up 3`, `down`, `env`,
# which prints a line that sets PATH, and `on NUMBER COMMAND`. scripts/machines.sh stops the kubelets, and makes them machines for clusters of
# their own. Root, etcd and Debian's CNI plugins are needed.
CLUSTERS := go run ./scripts/gotest -tags clusters -count=1 -timeout 1h
.PHONY: e2e-clusters
e2e-clusters: ## three machines of a lab form a cluster from their files alone; it grows, breaks and is repaired (root)
	$(CLUSTERS) -run ClustersOnMachines ./e2e

.PHONY: bench-clusters
bench-clusters: ## folders of 200 clusters; with TOSKOSE_MACHINES, the time from join to Ready, too
	go run ./scripts/benchclusters
	@[ -z "$${TOSKOSE_MACHINES:-}" ] || { $(CLUSTERS) -run JoinToReady ./e2e; cat build/clusters.md; }

# Each has engines of its own, which scripts/lab.sh makes: root, Docker and docker-registry are needed. The tables
# are in build/chaos-*.md.
CHAOS := go run ./scripts/gotest -count=1 -timeout 30m -tags chaos
.PHONY: chaos
chaos: ## what a goal keeps Thinking through on one engine: containers, manager and machine taken away
	scripts/lab.sh with 1 $(CHAOS) -run ChaosOnCompose ./e2e
	@cat build/chaos-compose.md build/chaos-relay.md build/chaos-attached.md
	$(MAKE) chaos-commands

# TOSKOSE_CHAOS_MOMENTS=N interrupts each command N times instead of 30, TOSKOSE_CHAOS_SEED=N repeats the moments of another
# run, TOSKOSE_CHAOS_COMMANDS=deploy,rotate chooses, and TOSKOSE_CHAOS_TARGET=swarm deploys on a swarm of one machine.
.PHONY: chaos-commands
chaos-commands: ## commands interrupted at random moments, and run again: the state that they are for is reached, and nothing is left behind
	scripts/lab.sh with 1 go run ./scripts/gotest -count=1 -timeout 2h -tags chaos -run InterruptedCommands ./e2e
	@cat build/chaos-commands-*.md

.PHONY: chaos-swarm
chaos-swarm: ## the same over a swarm of three machines, with links cut and machines stopped
	scripts/lab.sh with 3 $(CHAOS) -run ChaosOnASwarm ./e2e
	@cat build/chaos-swarm.md

# The cluster that kubectl is set to has three nodes or more, all of this machine, with its folders; their pods and
# node ports are reached from here. Beside TOSKOSE_LOAD, TOSKOSE_MACHINES is a command: cut, mend, kill or start with the
# number of a node, in the order of their names, and `on NUMBER COMMAND`, which has containerd's ctr.
.PHONY: chaos-kubernetes
chaos-kubernetes: ## the same on a Kubernetes of three nodes: pods, links and machines taken away
	$(CHAOS),kubernetes -run ChaosOnKubernetes ./e2e
	@cat build/chaos-kubernetes.md

# TOSKOSE_CHAOS_SEED=N repeats what was done in another run, which has printed it.
.PHONY: chaos-two-managers
chaos-two-managers: ## two managers of one application for TOSKOSE_CHAOS_TIME (10m), with links cut and goals set at both
	scripts/lab.sh with 3 go run ./scripts/gotest -tags chaos -count=1 -timeout 3h -run TwoManagers ./e2e
	@cat build/chaos-two-managers.md

# The release before this one: the last tag before this commit or, where there is none, the tag or commit that
# e2e/skew/testdata/release names.
RELEASE ?= $(shell git describe --tags --abbrev=0 HEAD^ 2>/dev/null || cat e2e/skew/testdata/release)
.PHONY: test-skew
test-skew: ## this version and the release before (RELEASE), as processes in all combinations and on a real engine
	@scripts/skew.sh "$(RELEASE)" go run ./scripts/gotest -tags skew -count=1 -timeout 30m -run 'SideBySide|AnotherHasWritten|TheReleaseBefore' ./e2e/skew ./e2e

.PHONY: contracts
contracts: ## record what RELEASE writes and says, for the tests of e2e/skew, which read it: at a release
	@scripts/skew.sh "$(RELEASE)" go test -tags skew,record -count=1 -timeout 15m -run IsRecorded ./e2e
	@echo "$(RELEASE)" > e2e/skew/testdata/release

.PHONY: lint
lint: ## golangci-lint, with the rules of .golangci.yml, and the count of phrases that are hard to read
	@# LINT_FLAGS are of a build whose packages it reads: of the tests' own, none is compiled for it alone.
	@lint=$$(scripts/golangci.sh $(GOLANGCI)) && GOFLAGS="$$(go env GOFLAGS) $(LINT_FLAGS)" "$$lint" run $(PACKAGES)
	@go run ./scripts/prose -max 1.5
	@# Tests that run only where there is a cluster, a swarm or engines of their own have to compile all the same.
	@for tags in chaos chaos,kubernetes clusters graphite graphite,kubernetes podman swarm; do GOFLAGS="$$(go env GOFLAGS) $(LINT_FLAGS)" go vet -tags $$tags ./e2e; done
	@GOFLAGS="$$(go env GOFLAGS) $(LINT_FLAGS)" go vet -tags envtest ./operator/controller

.PHONY: fmt
fmt: ## format all Go files
	@lint=$$(scripts/golangci.sh $(GOLANGCI)) && "$$lint" fmt $(PACKAGES)

.PHONY: golden
golden: ## rewrite the golden files
	@packages=$$(grep -rl --include='*_test.go' -e 'flag.Bool("update"' -e 'sample.Golden(' . | xargs -r -n1 dirname | sort -u); \
	[ -z "$$packages" ] || go test -count=1 $$packages -update

.PHONY: pictures
pictures: ## take the pictures of the manager's page that the documentation shows, in a real browser
	mkdir -p build/pictures
	TOSKOSE_PICTURES=$(CURDIR)/build/pictures go test -count=1 -run 'TestThePage' ./e2e/web
	cd build/pictures && cp topology.png pending.png component.png plan.png task.png hold.png offline.png dark.png phone-topology.png phone-task.png ../../docs/pictures/
	go run ./scripts/animate docs/pictures/recovery.gif build/pictures/recovery-*.png

.PHONY: views
views: ## every view of the page at three widths, in the light and in the dark, as pictures in build/views to look at
	mkdir -p build/views
	TOSKOSE_VIEWS=$(CURDIR)/build/views go test -count=1 -run 'TestEveryView' ./e2e/web

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (10s)
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## all benchmarks
	go test -run '^$$' -bench . -benchmem $(PACKAGES)

.PHONY: bench-unit
bench-unit: build ## the unit beside supervisord and tini: size, memory, times and throughput
	go run ./scripts/benchunit

.PHONY: bench-attach
bench-attach: build ## the same, with the unit in the place of supervisord, joined to an application
	go run ./scripts/benchunit -joined

.PHONY: bench-manager
bench-manager: build ## the manager beside 1,000 units: start, memory, states, events, idle, goals; what restarts what dies; tasks; logs; requests
	go run ./scripts/benchmanager

.PHONY: bench-page
bench-page: ## the manager's page in a real browser: first paint, an update, 1,000 components
	go test -count=1 -run '^$$' -bench ThePage -benchtime 1x ./e2e/web

# TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD are the API server's programs.
.PHONY: bench-operator
bench-operator: build ## the operator with 1,000 applications in 20 assets, beside the same Deployments without it: times, memory, restart
	TOSKOSE_OPERATOR=$(CURDIR)/$(BIN)/toskose-operator go test -tags envtest -count=1 -timeout 20m -run '^$$' -bench Plant -benchtime 1x ./operator/controller

.PHONY: bench-packager
bench-packager: build ## how fast toskose packages: contexts, images, wide and large archives
	go run ./scripts/benchpackager

.PHONY: test-unit-long
test-unit-long: ## the unit's hardships at length: millions of log lines, tens of thousands of orphans
	TOSKOSE_TEST_LONG=1 go run ./scripts/gotest -count=1 -timeout 30m ./cmd/toskose-unit ./unit ./unit/process ./unit/component

.PHONY: test-differential
test-differential: ## one corpus of calls and configurations, against the real supervisord and the unit
	go run ./scripts/gotest -count=1 -timeout 15m ./unit/differential

# Of an arm, the version after a slash.
UNIT_PLATFORMS := amd64 arm64 arm/7 riscv64 s390x ppc64le

.PHONY: cross
cross: vet-cross ## build the unit for every architecture that it supports; check toskose for Windows and macOS
	@mkdir -p build/cross
	@for platform in $(UNIT_PLATFORMS); do \
		arch=$${platform%%/*}; arm=$${platform#*/}; [ "$$arm" != "$$platform" ] || arm=; \
		CGO_ENABLED=0 GOOS=linux GOARCH=$$arch GOARM=$$arm go build $(UNIT_FLAGS) -trimpath -ldflags "$(LDFLAGS)" \
			-o build/cross/toskose-unit-$$arch$$arm ./cmd/toskose-unit; \
		echo "build/cross/toskose-unit-$$arch$$arm $$(stat -c %s build/cross/toskose-unit-$$arch$$arm)"; \
	done

.PHONY: vet-cross
vet-cross: ## check the types of toskose for Windows and macOS, from source
	@for os in windows darwin; do echo "types of cmd/toskose for $$os"; go run ./scripts/typecheck $$os ./cmd/toskose; done

.PHONY: test-arm64
test-arm64: cross ## images for arm64, with the unit in them, in a registry, in a layout and on the engine
	TOSKOSE_UNIT_ARM64=$(CURDIR)/build/cross/toskose-unit-arm64 go run ./scripts/gotest -count=1 -timeout 30m -run ForArm64 ./packager/image

.PHONY: bench-tosca
bench-tosca: ## how fast documents are read and plans are made, by their size
	go test -run '^$$' -bench 'Load/thinking' -benchmem ./tosca
	@# Each topology in processes of its own, as toskose reads them: memory that another has used is faster.
	go test -c -o build/tosca.test ./tosca
	cd tosca && for nodes in 1000 10000 100000; do for round in 1 2 3 4 5; do \
		../build/tosca.test -test.run '^$$' -test.bench "Load/$$nodes$$" -test.benchtime 1x -test.benchmem | grep ^Benchmark; \
	done; done
	cd tosca && ../build/tosca.test -test.run '^$$' -test.bench Shapes -test.benchtime 3x -test.benchmem | grep ^Benchmark
	go test -run '^$$' -bench Draw -benchtime 3x ./graph
	go test -run '^$$' -bench . -benchmem ./spec/plan

.PHONY: clean
clean: ## remove bin/ and build/
	@if [ -e build/demo ]; then echo 'make clean: the demo is still there; make demo-down removes it' >&2; exit 1; fi
	rm -rf bin build cover.out
