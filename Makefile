# The tasks of the project. "make check" is for every few minutes, "make test" is the whole truth.

BIN := $(CURDIR)/.bin
# The linter carries staticcheck 0.8.2 and gosec 2.29.0, so they are not installed a second time.
GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)
# The time each fuzz target gets.
FUZZTIME ?= 20s
# How many seeds of the simulation run, and how many times a process is killed.
SEEDS ?= 2000
KILLS ?= 300

.DEFAULT_GOAL := check
.PHONY: check test screenshots tools lint fuzz soak planted crash replicas evidence canaries soak-kills build bench bench-tables clean

# Formatting, vet, lint and the fast tests, on SQLite only and with fewer random cases.
check: lint
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted (gofmt -w): $$unformatted"; exit 1; }
	go vet ./...
	QUITTANCE_TEST_ENGINES=sqlite go test -short ./...

# Every test, with the race detector, on both engines. One PostgreSQL cluster serves all packages and ends with them.
test:
	@scripts/setup
	go build -o $(BIN)/pgcluster ./internal/pgtest/cmd/pgcluster
	CGO_ENABLED=1 $(BIN)/pgcluster -- go test -race -timeout 30m ./...
	go test -count=1 -timeout 60m -run TestSeeds ./internal/simulation -seeds $(SEEDS)
	go test -count=1 -timeout 60m -tags planted -run TestPlanted ./internal/simulation

# The linter alone.
lint: $(GOLANGCI)
	$(GOLANGCI) run ./...
	$(GOLANGCI) run --build-tags checkpoints ./cmd/quittance
	$(GOLANGCI) run --build-tags planted ./internal/simulation

# The pinned tools, built by this machine's Go into .bin.
tools: $(GOLANGCI)

$(GOLANGCI):
	GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(BIN)/golangci-lint $@

# Every fuzz target in turn: make fuzz FUZZTIME=5m
fuzz:
	QUITTANCE_TEST_ENGINES=sqlite scripts/fuzz $(FUZZTIME)

# More seeds of the simulation: make soak SEEDS=20000 FIRST=5000
FIRST ?= 1
soak:
	go test -run TestSeeds -timeout 24h -v ./internal/simulation -first $(FIRST) -seeds $(SEEDS)

# The bugs planted into the simulation, each of which it has to find.
planted:
	go test -timeout 60m -tags planted -run TestPlanted -v ./internal/simulation

# The rows of docs/reliability.md that take a while: kills at every checkpoint; replicas and databases in trouble; tampering
# with evidence; where secrets could hide.
crash:
	go test -run 'TestKilledAtEveryCheckpoint|TestEveryNamedStep' -v -timeout 1h ./cmd/quittance
replicas:
	go test -run 'TestReplicasRace|TestKilledInside|TestRolling|TestPostgresInTrouble|TestDiskFull|TestAdditive|TestMigrateBeside|TestPingWrites' -v -timeout 1h ./cmd/quittance ./internal/store
evidence:
	go test -run 'TestAppendOnly|TestTampered|TestMovedTo|TestVerify|TestSeals|TestExport' -v ./internal/store ./cmd/quittance
canaries:
	go test -run 'TestSecretsAppearNowhere|TestTheScan' -v ./cmd/quittance

# Random SIGKILLs under load, on both engines: make soak-kills KILLS=1000
soak-kills:
	QUITTANCE_TEST_KILLS=$(KILLS) go test -run TestKilledAtAnyMoment -v -timeout 12h ./cmd/quittance

# The pictures of the README, of the console as it is: a sandbox in a real Chromium.
screenshots:
	@scripts/setup
	@pictures=$$(mktemp -d) && QUITTANCE_SCREENSHOTS=$$pictures QUITTANCE_TEST_ENGINES=sqlite go test -count=1 -run TestPagesLook ./internal/console && \
		mkdir -p docs/images && cp $$pictures/invoices-view.png $$pictures/invoice-view.png docs/images/; status=$$?; rm -r $$pictures; exit $$status

# The one binary, without cgo.
build:
	CGO_ENABLED=0 go build -trimpath -o bin/quittance ./cmd/quittance

bench:
	QUITTANCE_TEST_ENGINES=sqlite go test -run '^$$' -bench . -benchmem ./...

# The measurements of docs/benchmarks.md, on both engines, as JSON lines: an hour of a quiet machine, and some gigabytes.
# make bench-tables DRAFTS=100000 for a smaller list.
bench-tables: build
	@scripts/setup
	go build -o $(BIN)/pgcluster ./internal/pgtest/cmd/pgcluster
	@DRAFTS=$(DRAFTS) scripts/bench-tables

clean:
	rm -rf $(BIN) bin
