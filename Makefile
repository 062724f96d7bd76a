# The tasks of the project. "make check" is for every few minutes, "make test" is the whole truth.

BIN := $(CURDIR)/.bin
# The linter carries staticcheck 0.8.2 and gosec 2.29.0, so they are not installed a second time.
GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)
# The time each fuzz target gets.
FUZZTIME ?= 20s

.DEFAULT_GOAL := check
.PHONY: check test tools lint fuzz build bench clean

# Formatting, vet, lint and the fast tests, on SQLite only and with fewer random cases.
check: lint
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted (gofmt -w): $$unformatted"; exit 1; }
	go vet ./...
	QUITTANCE_TEST_ENGINES=sqlite go test -short ./...

# Every test, with the race detector, on both engines. One PostgreSQL cluster serves all packages and ends with them.
test:
	@scripts/setup
	go build -o $(BIN)/pgcluster ./internal/pgtest/cmd/pgcluster
	CGO_ENABLED=1 $(BIN)/pgcluster -- go test -race -timeout 20m ./...

# The linter alone.
lint: $(GOLANGCI)
	$(GOLANGCI) run ./...

# The pinned tools, built by this machine's Go into .bin.
tools: $(GOLANGCI)

$(GOLANGCI):
	GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(BIN)/golangci-lint $@

# Every fuzz target in turn: make fuzz FUZZTIME=5m
fuzz:
	QUITTANCE_TEST_ENGINES=sqlite scripts/fuzz $(FUZZTIME)

# The one binary, without cgo.
build:
	CGO_ENABLED=0 go build -trimpath -o bin/quittance ./cmd/quittance

bench:
	QUITTANCE_TEST_ENGINES=sqlite go test -run '^$$' -bench . -benchmem ./...

clean:
	rm -rf $(BIN) bin
