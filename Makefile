# `make` alone prints what can be made. Every target needs Go, and nothing else
# unless it says so.

GO      ?= go
BIN     := bin
NODE_PACKAGES := e2e/node/node_modules/.package-lock.json
WEB_PACKAGES  := web/node_modules/.package-lock.json
# What the dashboard is built from; a folder is newer when a file in it has gone.
WEB_SOURCES   := $(shell find web/src web/public) web/index.html web/vite.config.ts
# Programs are static: built in two thirds of the time, and they run anywhere.
STATIC := CGO_ENABLED=0
# The image is for this machine unless another is named.
IMAGE_ARCH ?= $(shell $(GO) env GOARCH)
VERSION    := $(shell sed -n 's|^const Version = "\(.*\)"$$|\1|p' internal/program/version.go)
# What a fuzz target gets per run, and the bench's shortest round.
FUZZTIME  ?= 20s
BENCHTIME ?= 1s
# For how long the processes of a cluster are killed.
CLUSTERTIME ?= 5m

.DEFAULT_GOAL := help

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## build, and start everything in one process
	@command -v npm >/dev/null && $(MAKE) --no-print-directory web || echo "the dashboard is not built, which needs Node 20.19 or newer: / will say how; going on without it"
	$(STATIC) $(GO) build -trimpath -o $(BIN)/ ./cmd/quotashare
	@$(BIN)/quotashare up

.PHONY: build
build: ## build the programs into bin/
	$(STATIC) $(GO) build -trimpath -o $(BIN)/ ./cmd/...

.PHONY: web
web: web/dist/index.html ## build the dashboard into web/dist (needs Node); then make build

web/dist/index.html: $(WEB_PACKAGES) $(WEB_SOURCES)
	cd web && npm run --silent build

$(WEB_PACKAGES): web/package-lock.json
	cd web && npm ci --no-audit --no-fund

.PHONY: dist
dist: web ## make what is handed out, for Linux and macOS, in dist/ (needs Node and GNU tar; minutes)
	deploy/dist dist

.PHONY: image
image: web ## build the image quotashare:VERSION (needs Node, GNU tar and Docker)
	deploy/dist dist/image linux/$(IMAGE_ARCH)
	deploy/image dist/image/quotashare-$(VERSION)-linux-$(IMAGE_ARCH).tar.gz dist/image/files
	docker build --platform linux/$(IMAGE_ARCH) --tag quotashare:$(VERSION) --file Dockerfile dist/image/files

.PHONY: web-test
web-test: $(WEB_PACKAGES) ## test the dashboard without a browser, and then in Chromium (needs make web build; may install chromium)
	@.ci/chromium
	cd web && npm run --silent check && npm test && npm run e2e

.PHONY: test
test: $(NODE_PACKAGES) ## run every test, with the race detector (needs gcc and Node; installs qemu-user, python3 and curl)
	@.ci/emulator
	@.ci/interpreters
	$(GO) test -race -timeout 15m ./...

# The packages of the tests' client that is not Go.
$(NODE_PACKAGES): e2e/node/package-lock.json
	cd e2e/node && npm ci --no-audit --no-fund

.PHONY: cluster-test
cluster-test: ## kill the processes of a three-node cluster in turn for CLUSTERTIME (5m), under load
	QUOTASHARE_CLUSTER_FOR=$(CLUSTERTIME) $(GO) test ./e2e -run '^TestAClusterOutlivesEachOfItsProcesses$$' -v -count 1 -timeout 30m

.PHONY: lint
lint: ## format, vet, staticcheck, known vulnerabilities, and the rules of the house
	@unformatted=$$($(GO) tool gofumpt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted (run make format):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test ./internal/lint
	@.ci/vulncheck

.PHONY: format
format: ## format every Go file
	$(GO) tool gofumpt -w .

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (20s) each
	@set -e; $(GO) list -f '{{.Dir}}' ./... | while read -r dir; do \
	  for target in $$(grep -hos '^func Fuzz[A-Za-z0-9_]*' "$$dir"/*_test.go | sed 's/^func //'); do \
	    echo "$$dir $$target"; \
	    $(GO) test "$$dir" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME); \
	  done; \
	done

.PHONY: bench
bench: ## run every Go benchmark
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

.PHONY: mutants
mutants: ## get the rule guarantee wrong in every way that is known, and see a test fail for each (minutes)
	$(GO) test -tags mutants -run '^(TestTraps|TestComparisons)$$' -count=1 -timeout 30m ./fairshare/guarantee

.PHONY: release-data
release-data: ## make what this version leaves behind, which later ones must read (see e2e/testdata/releases)
	$(GO) test -tags makerelease -run '^TestMakeRelease$$' -count=1 ./e2e

.PHONY: clean
clean: ## remove what was built; data/ is yours and stays
	rm -rf $(BIN) dist
	find web/dist -mindepth 1 ! -name .gitignore -delete
