# Kerf. `make help` lists the targets.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
export CGO_ENABLED := 0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
DATE    ?= $(shell git log -1 --format=%cs 2>/dev/null || echo unknown)
PKG     := github.com/kerf-sh/kerf/internal/version
LDFLAGS := -s -w -X $(PKG).Version=$(VERSION) -X $(PKG).Commit=$(COMMIT) -X $(PKG).Date=$(DATE)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-20s %s\n", $$1, $$2}'

.PHONY: demo
demo: build ## the main job on a laptop, no AWS account: pods wait, instances come, pods run; work goes, instances go; interruption, consolidation, drift, expiry
	bin/kerf demo $(ARGS)

.PHONY: demo-images
demo-images: build ## one instance of every AMI family, from a launch template, with a GPU, with EFA, in reserved capacity; each node checked
	bin/kerf demo images

# The stories that `make test` plays end to end. Between them they touch every loop of the controller.
STORIES := TestFiftyPodsOverZones TestStories/(node_deleted|orphans|no_spot_capacity|disruption_budget) TestConsolidation \
  TestDrift/stories/a_new_image_rolls_a_pool_one_by_one TestInterruption/(the_same_warning_several_times|scheduled_maintenance_waits) \
  TestNodeLife/stories/an_unhealthy_node_is_replaced TestQueue/rebalance_replaces TestACapacityBufferKeepsRoomWarm \
  TestReservedCapacity/consumed_then_exhausted_then_ended TestSafety/a_launch_that_is_denied_is_tried_with_growing_pauses \
  TestWhatUsersKnowBetter/a_price_by_overlay TestBadInput
# As go test takes them: each name from its beginning to its end, level by level.
empty :=
STORIES_PATTERN := $(subst $(empty) $(empty),|,$(foreach s,$(STORIES),^$(subst /,$$/^,$(s))$$))

# Some packages wait more than they compute, so more of them are tested at a time than there are processors, and the stories
# are told beside them.
# A garbage collector that comes less often leaves more of the processors to the tests.
UNITS   := GOGC=400 go test -p 4 ./...
E2E     := go test -C controlplane ./e2e
# Packages whose dearest tests are played with -args -all only.
DEAR    := ./internal/sim/simcluster ./internal/sim/coverage/permissions

.PHONY: test
test: build ## before each push, some minutes: unit and property tests, 20 fault schedules, a dozen end-to-end stories
	$(E2E) -timeout 20m -parallel 5 -run '$(STORIES_PATTERN)' & stories=$$!; $(UNITS) || { kill $$stories; exit 1; }; wait $$stories
	@echo "make test has left out, and make test-all plays: the other end-to-end stories, the control plane's own tests, plans"
	@echo "against the real kube-scheduler, 60 more fault schedules and 14 more crash points, each action taken out of the"
	@echo "policies and not every fourth, the dearest stories in virtual time, installations with Helm, the image, the tests of bench/,"
	@echo "dashboards and alerts with a real Prometheus, and the corpus of decisions. Before a release make release-check also rehearses a migration from Karpenter and back."

.PHONY: test-all
test-all: test ## what make test plays, and what it leaves out; all but make release-check
	{ nice -n 5 go test -timeout 40m $(DEAR) -args -all && \
	  ENDURANCE_N=60 ENDURANCE_SEED=21 ENDURANCE_POINTS=20 nice -n 5 go test -timeout 60m ./internal/sim/endurance/virtual; } & virtual=$$!; \
	{ go test -C controlplane -timeout 40m -parallel 3 ./... -skip '$(STORIES_PATTERN)' && \
	  KERF_CONTROLPLANE='$(CURDIR)/bin/kerf-controlplane' go test -C release ./... && \
	  go test -C bench ./... && \
	  go test -C monitoring -count=1 ./...; } || { kill $$virtual; exit 1; }; \
	wait $$virtual
	$(MAKE) corpus

.PHONY: race
race: ## data races in the controller and what it is made of; needs a C compiler, some minutes
	CGO_ENABLED=1 go test -race -timeout 30m ./internal/controller/... ./internal/state/... ./internal/app ./internal/web ./internal/status ./internal/top ./internal/guard ./internal/aws/...

.PHONY: browser
browser: ## a Chromium for test-page and pictures, from Debian or Ubuntu
	@command -v chromium chromium-browser google-chrome >/dev/null || test -n "$${KERF_BROWSER:-}" || { apt-get update -qq && apt-get install -qq -y chromium >/dev/null; } \
	  || { echo "no Chromium: install one (apt-get install chromium, as root), or set KERF_BROWSER to the path of one"; exit 1; }

.PHONY: test-page
test-page: browser ## the page of kerf ui in a real Chromium, over a local cluster and with 5,000 nodes
	go test -C controlplane -tags browser -count=1 -timeout 20m ./browser

.PHONY: pictures
pictures: browser ## the pictures of README and docs, made anew of a local cluster; all that there are in PICTURES=folder
	to='$(or $(PICTURES),$(CURDIR)/bin/pictures)'; mkdir -p "$$to"; \
	KERF_PICTURES="$$to" go test -C controlplane -tags browser -count=1 -timeout 20m ./browser -run '^TestStories$$' && \
	for p in docs/pictures/*.png; do cp "$$to/$${p##*/}" "$$p"; done

.PHONY: build
build: build-kerf build-controlplane ## bin/kerf and bin/kerf-controlplane

.PHONY: build-kerf
build-kerf: ## bin/kerf alone
	go build -ldflags '$(LDFLAGS)' -o bin/kerf ./cmd/kerf

.PHONY: build-controlplane
build-controlplane: ## bin/kerf-controlplane alone (etcd, kube-apiserver, scheduler, controller-manager, kwok); minutes when cold
	bash controlplane/build.sh bin/kerf-controlplane

.PHONY: release
release: ## everything that a release consists of, in dist/: programs, image, charts, licences, checksums; VERSION=v1.2.3
	go run -C release ./cmd/release -root '$(CURDIR)' -out '$(CURDIR)/dist' $(if $(filter command line environment,$(origin VERSION)),-version '$(VERSION)')

.PHONY: release-check
release-check: build-controlplane ## that two builds of one commit are the same image, that it serves pods, and that a cluster moves from Karpenter and back; half an hour
	KERF_CONTROLPLANE='$(CURDIR)/bin/kerf-controlplane' go test -C release ./... -count=1 -args -all
	KERF_CONTROLPLANE='$(CURDIR)/bin/kerf-controlplane' go test -C bench -count=1 -timeout 60m ./rehearsal -args -all

.PHONY: generate
generate: ## deepcopy, CRDs, RBAC, dashboards, alerts, reference docs
	bash .ci/tools controller-gen
	sh api/generate.sh
	go run -C monitoring ./generate
	go run ./internal/docgen

.PHONY: lint
lint: ## golangci-lint at the pinned version
	bash .ci/tools golangci-lint
	.ci/bin/golangci-lint run ./...
	cd controlplane && ../.ci/bin/golangci-lint run ./...
	cd bench && ../.ci/bin/golangci-lint run ./...
	cd release && ../.ci/bin/golangci-lint run ./...
	cd monitoring && ../.ci/bin/golangci-lint run ./...

.PHONY: bench
bench: ## benchmarks of the engine
	go test -run '^$$' -bench . -benchmem ./internal/engine/pack/...

.PHONY: bench-peer
bench-peer: ## Kerf's engine beside upstream's on the same inputs; N=full for all inputs, ARGS for settings
	go run -C bench ./cmd/compare $(if $(filter full,$(N)),-full) $(ARGS)

.PHONY: bench-beside
bench-beside: build-controlplane ## Kerf's controller beside upstream's in the same local cluster; ARGS='-list', ARGS='-only ^rest-100$$'
	KERF_CONTROLPLANE=$(CURDIR)/bin/kerf-controlplane go run -C bench ./cmd/beside $(ARGS)

.PHONY: truth
truth: build-controlplane ## kerf simulate held against a real control plane, with five workloads of 15 minutes: ARGS='-who simulated,kerf -only waves -curves'
	KERF_CONTROLPLANE=$(CURDIR)/bin/kerf-controlplane go run -C bench ./cmd/truth $(ARGS)

.PHONY: rehearse-migration
rehearse-migration: build-controlplane ## a local cluster of 30 nodes moves from Karpenter to Kerf and back, watched for 15 minutes each: ARGS='-rest 3m', ARGS='-compat kerf -crash -one-release'
	KERF_CONTROLPLANE=$(CURDIR)/bin/kerf-controlplane go run -C bench ./cmd/rehearse $(ARGS)

.PHONY: replay-arm64
replay-arm64: ## decisions that were written down on amd64, made again by arm64 code under qemu
	@command -v qemu-aarch64-static >/dev/null || { echo "qemu-aarch64-static is not here: apt-get install qemu-user-static"; exit 1; }
	GOARCH=arm64 go test -exec qemu-aarch64-static -count=1 -timeout 60m ./internal/sim/scenario

.PHONY: bench-rest
bench-rest: ## what the controller takes at rest, and while 1 % of the pods are replaced a minute: SIZES='5000/100000/10' (nodes/pods/pools) CHURN=0
	for churn in $(or $(CHURN),0 1); do for size in $(or $(SIZES),100/1500/2 1000/15000/5 2500/50000/10 5000/100000/10); do IFS=/ read -r nodes pods pools <<< "$$size"; \
	go test ./internal/sim/simcluster -run '^TestRest$$' -count=1 -timeout 0 -v -rest-nodes "$$nodes" -rest-pods "$$pods" -rest-pools "$$pools" -rest-churn "$$churn"; done; done

.PHONY: bench-day
bench-day: ## what a simulated day takes of the processor and of memory: PODS=1000 START=0 HOURS=24 SEED=1 TYPES=all (or few) PROFILE=file
	go test -exec 'env GOMAXPROCS=1 GODEBUG=randautoseed=0,asyncpreemptoff=1' ./internal/sim/simcluster -run '^TestDay$$' -count=1 -timeout 0 -v -day-alike -day-pods $(or $(PODS),1000) -day-start $(or $(START),0) -day-hours $(or $(HOURS),24) -day-seed $(or $(SEED),1) -day-types $(or $(TYPES),all) \
	$(if $(PROFILE),-day-profile '$(abspath $(PROFILE))')

.PHONY: ledger
ledger: ## what clusters cost and whether their moves pay back: SIZES=150,1000 LOADS=steady,breathing,falling,daily SEEDS=1-20 HOURS=6 WITHOUT=waits/turns
	go test ./internal/sim/simcluster -run '^TestLedger$$' -count=1 -timeout 0 -v -ledger-sizes '$(or $(SIZES),150)' -ledger-seeds '$(or $(SEEDS),1-20)' -ledger-hours $(or $(HOURS),6) \
	$(if $(LOADS),-ledger-loads '$(LOADS)') $(if $(WITHOUT),-ledger-without '/$(WITHOUT)') $(if $(RUNS),-ledger-runs '$(abspath $(RUNS))')

.PHONY: bench-e2e
bench-e2e: build ## how soon a lone pod is served, and a thousand pods, on a real control plane
	go test -C controlplane ./e2e -run '^$$' -bench . -benchtime 1x -timeout 30m

.PHONY: fidelity
fidelity: build-controlplane ## plans against the real kube-scheduler: N=2000 SEED=1 WORKERS=3; replay files go to generated/fidelity
	go run -C controlplane ./fidelity/run -n $(or $(N),2000) -seed $(or $(SEED),1) -workers $(or $(WORKERS),3) -replays '$(CURDIR)/generated/fidelity'

.PHONY: corpus
corpus: ## some 3,200 decisions made again and compared with the recorded digests: what only moves code changes none; ARGS='-write', ARGS='-only case-1', ARGS='-records DIR'
	go run -C controlplane ./corpus $(ARGS)

.PHONY: endurance
endurance: ## faults, crashes and churn in virtual time, judged all along: N=40 SEED=1 POINTS=40 (or all) SHRINK=20, REPLAY=file
	ENDURANCE_N=$(or $(N),40) ENDURANCE_SEED=$(or $(SEED),1) ENDURANCE_SHRINK=$(or $(SHRINK),20) ENDURANCE_REPLAY='$(if $(REPLAY),$(abspath $(REPLAY)))' \
	ENDURANCE_POINTS=$(if $(filter all,$(POINTS)),1000000,$(or $(POINTS),40)) ENDURANCE_DIR='$(CURDIR)/generated/endurance' \
	go test ./internal/sim/endurance/virtual -count=1 -timeout 12h -v -run '$(if $(REPLAY),TestReplay,TestStory|TestCrashPoints|TestSchedules)'

.PHONY: endurance-real
endurance-real: build-controlplane ## crash points of the same story on a real control plane, three minutes each: POINTS=3
	ENDURANCE_POINTS=$(or $(POINTS),3) go test -C controlplane ./endurance -count=1 -timeout 0 -v

.PHONY: clean
clean: ## remove bin/
	rm -rf bin
