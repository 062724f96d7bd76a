# The tasks of the project. Run "make check" every few minutes. "make test" runs every test on both engines with short
# limits, and "make verify" runs the tests that take hours.

BIN := $(CURDIR)/.bin
# The linter carries staticcheck 0.8.2 and gosec 2.29.0, so they are not installed a second time.
GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)
# The packages of the product and of the SDK, which is a module of its own.
PACKAGES := ./... quittance/client/...
# The time for each fuzz target.
FUZZTIME ?= 20s
GOVULNCHECK_VERSION := v1.8.0
GOVULNCHECK := $(BIN)/govulncheck-$(GOVULNCHECK_VERSION)
# The size of "make verify": seeds of the simulation, and random kills on each engine.
SEEDS ?= 2000
KILLS ?= 300

# Tests spend much of their time waiting, so more packages are tested at a time than there are processors, and four tests of each.
PACKAGES_AT_A_TIME = $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))

# Without the directory in their paths, all clones share the compiled packages in the build cache.
export GOFLAGS += -trimpath

.DEFAULT_GOAL := check
.PHONY: check test test-programs test-packages verify foreign-documents screenshots tools lint vulncheck fuzz soak planted crash replicas evidence canaries ratios soak-kills drill build dist dist-check bench bench-tables official-rules official-examples provider-mocks clean

# Formatting, vet, lint, known vulnerabilities, go.mod and the fast tests, on SQLite only and with fewer random cases.
check: lint vulncheck
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted (gofmt -w): $$unformatted"; exit 1; }
	go mod tidy -diff
	cd client && go mod tidy -diff
	cd tools/dist && go mod tidy -diff && go vet ./... && go test -short ./...
	cd tools/deploy && go mod tidy -diff && go vet ./... && go test -short ./...
	cd tools/load && go mod tidy -diff && go vet ./... && QUITTANCE_TEST_ENGINES=sqlite go test -short ./...
	go vet $(PACKAGES)
	QUITTANCE_TEST_ENGINES=sqlite go test -short -p $(PACKAGES_AT_A_TIME) -parallel 4 $(PACKAGES)

# The race detector, but not for the hashing of passwords, compression, the shaping of text, the parts of SQLite that are C translated to Go, and
# packages that only parse and format what they are given. They would take most of the time of the tests. The race detector still
# follows the locks that guard their data. A package that has a sync.Map, an atomic value or a sync.Once for a map must not be here: the
# race detector would miss the synchronization and report false races. Nor may a package that makes an instance of a generic type
# with such a value: the linker could take that instance for all packages.
UNRACED := modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory golang.org/x/crypto/argon2 github.com/go-text/typesetting/... golang.org/x/net/html github.com/go-json-experiment/json/jsontext github.com/go-json-experiment/json/internal/jsonwire text/template/parse compress/flate github.com/klauspost/compress/zstd/... github.com/klauspost/compress/huff0 github.com/klauspost/compress/fse github.com/klauspost/compress/internal/... strings strconv unicode/utf8 regexp github.com/alecthomas/kong github.com/pressly/goose/v3/internal/sqlparser
RACE := -race $(foreach package,$(UNRACED),-gcflags=$(package)=-race=false)

# The packages whose tests run the programs as users do, beside those of tools/load. They are tested without the race detector, which would slow down
# the load that some make, so that Go compiles them together with the programs that they build.
PROGRAM_TESTS := quittance/cmd/... quittance/sdk/...

# Every promise on both engines, and what runs in a test's own process with the race detector. Both halves run at the same time, because each waits
# often; a failure of one does not end the other.
test:
	@scripts/setup
	CGO_ENABLED=0 go build -o $(BIN)/pgcluster ./test/pgtest/cmd/pgcluster
	@$(MAKE) --no-print-directory --keep-going --jobs=2 test-programs test-packages
	cd tools/dist && CGO_ENABLED=0 go test -count=1 ./...
	cd tools/deploy && CGO_ENABLED=0 go test -count=1 ./...

# All packages of a half share one PostgreSQL cluster, which stops at the end. Programs that tests build have no cgo, so that Go compiles each
# package only once for all of them; make check has go vet. They are tested one after another, beside the other half. Nothing is taken from
# the cache of test results: Go does not know that a test depends on a program that it builds.
PROGRAM_FLAGS := -count=1 -vet=off -p 1 -parallel 4 -timeout 60m
test-programs:
	CGO_ENABLED=0 $(BIN)/pgcluster -- sh -c 'go test $(PROGRAM_FLAGS) $(PROGRAM_TESTS); failed=$$?; \
		cd tools/load && go test $(PROGRAM_FLAGS) ./... && exit $$failed'

# A program with the race detector would otherwise sleep for a second before it ends. The last packages of the list take longest, so they are first.
test-packages:
	programs=$$(go list $(PROGRAM_TESTS)) && all=$$(go list $(PACKAGES)) && packages=$$(echo "$$all" | grep -vxF "$$programs" | tac) && \
		GORACE=atexit_sleep_ms=0 CGO_ENABLED=1 $(BIN)/pgcluster -- go test -count=1 $(RACE) -vet=off -exec "env CGO_ENABLED=0" -p $(PACKAGES_AT_A_TIME) -parallel 4 -timeout 60m $$packages

# The long tests: the same promises with thousands of seeds, with kills at every step, with random kills, with planted
# bugs, and with fuzzing. This takes some hours; each part can be limited: make soak planted crash SEEDS=200.
verify: soak planted crash replicas evidence canaries ratios soak-kills fuzz

# Only the linter. One run has both build tags, which hide only internal/cli/checkpoint_off.go. That file is for vet, because
# every further run with other tags analyses all dependencies again.
lint: $(GOLANGCI)
	$(GOLANGCI) run --build-tags checkpoints,planted ./...
	cd client && $(GOLANGCI) run --config ../.golangci.yml ./...
	cd tools/dist && $(GOLANGCI) run --config ../../.golangci.yml ./...
	cd tools/deploy && $(GOLANGCI) run --config ../../.golangci.yml ./...
	cd tools/load && $(GOLANGCI) run --config ../../.golangci.yml ./...

# Known vulnerabilities in called code, if the vulnerability database is reachable.
vulncheck: $(GOVULNCHECK)
	@scripts/vulncheck $(GOVULNCHECK)

# The pinned tools, built with this machine's Go into .bin.
tools: $(GOLANGCI) $(GOVULNCHECK)

$(GOVULNCHECK):
	GOBIN=$(BIN) go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
	mv $(BIN)/govulncheck $@

$(GOLANGCI):
	GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(BIN)/golangci-lint $@

# Every fuzz target in turn: make fuzz FUZZTIME=5m
fuzz:
	QUITTANCE_TEST_ENGINES=sqlite scripts/fuzz $(FUZZTIME)

# More seeds of the simulation: make soak SEEDS=20000 FIRST=5000
FIRST ?= 1
soak:
	go test -count=1 -run TestSeeds -timeout 24h -v ./test/simulation -first $(FIRST) -seeds $(SEEDS)

# The planted bugs, each of which the simulation must find.
planted:
	go test -count=1 -timeout 60m -tags planted -run TestPlanted -v ./test/simulation

# The longer rows of docs/reliability.md: kills at every checkpoint; failing replicas and databases; tampering with evidence;
# the search for secrets.
crash:
	go test -count=1 -run 'TestKilledAtEveryCheckpoint|TestEveryNamedStep' -timeout 1h ./test/integration -every-checkpoint
replicas:
	go test -run 'TestReplicasRace|TestKilledInside|TestRolling|TestPostgresInTrouble|TestDiskFull|TestAdditive|TestMigrateBeside|TestPingWrites' -v -timeout 1h ./test/integration ./internal/ledger/...
evidence:
	go test -count=1 -v ./internal/ledger/proof -every-row
	go test -count=1 -run 'TestAppendOnly|TestTampered|TestAnchor|TestVerify|TestSeals|TestExport|TestScripts/evidence' -v ./test/integration
canaries:
	go test -run 'TestSecretsAppearNowhere|TestTheScan' -v ./test/integration

# The ratios by which slow, idle or searching clients may slow down others, with their limits, and what the database has no part in on both
# engines. Needs an idle machine.
ratios:
	go test -count=1 -run 'TestSlowStrangers|TestBodiesOfPages|TestIdleStrangers|TestGuessingStrangers|TestTraces|TestSearchesDelayNobodyElse' -v -timeout 1h ./test/integration -ratios

# The disaster drills with a longer load than in make test, one after another: make drill SECONDS_OF_LOAD=600. The one whose standby is
# behind has to fail, because it shows that losses are found.
SECONDS_OF_LOAD ?= 120
drill:
	@scripts/setup
	for setup in standby archive sqlite; do scripts/disaster-drill --seconds $(SECONDS_OF_LOAD) $$setup || exit 1; done
	! scripts/disaster-drill --seconds $(SECONDS_OF_LOAD) lagging

# Random SIGKILLs under load, on both engines: make soak-kills KILLS=1000
soak-kills:
	QUITTANCE_TEST_KILLS=$(KILLS) go test -count=1 -run TestKilledAtAnyMoment -v -timeout 12h ./test/integration

# Reads the UBL documents below a directory and compares the result with that of another XML parser, which needs Python 3:
# make foreign-documents DOCS=/path/to/examples
foreign-documents:
	@test -d "$(DOCS)" || { echo "usage: make foreign-documents DOCS=DIRECTORY"; exit 1; }
	@expected=$$(mktemp) && scripts/foreign-documents "$(abspath $(DOCS))" >$$expected && \
		go test -count=1 -run TestForeignDocuments -v ./internal/document/ubl -expected $$expected; status=$$?; rm -f $$expected; exit $$status

# Pictures of every page of the console and of its states, from a sandbox in a real Chromium: at 1440, 1280 and 390 pixels, light and
# dark, from left to right and from right to left. Two of them are those of the README. make screenshots SCREENSHOTS=directory
SCREENSHOTS ?= .screenshots
screenshots:
	@scripts/setup
	@mkdir -p "$(SCREENSHOTS)" docs/images
	QUITTANCE_SCREENSHOTS="$(abspath $(SCREENSHOTS))" QUITTANCE_TEST_ENGINES=sqlite go test -count=1 -timeout 60m ./internal/front/console/site
	cp "$(SCREENSHOTS)/invoices-view.png" "$(SCREENSHOTS)/invoice-view.png" docs/images/

# The product, which is one binary, and the program that measures it, both without cgo.
# RELEASE=1.2.0 builds a release; without it the version is devel.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags "-X main.release=$(RELEASE)" -o bin/ ./cmd/quittance
	cd tools/load && CGO_ENABLED=0 go build -trimpath -ldflags "-X main.release=$(RELEASE)" -o ../../bin/ ./quittance-bench

# What is distributed, for every platform, into dist: archives, packages, an image, a Helm chart, compose files, bills of materials, checksums (docs/ops/install.md).
# make dist PLATFORMS= builds only the chart and the compose files.
# make dist RELEASE=1.2.0 SIGNING_KEY=FILE; without RELEASE the tag of the commit names the release.
PLATFORMS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64
MAINTAINER ?= Quittance <maintainers@quittance.invalid>
dist:
	rm -rf dist
	cd tools/dist && go run . -out ../../dist -release "$(RELEASE)" -platforms "$(PLATFORMS)" -key "$(abspath $(SIGNING_KEY))" -maintainer "$(MAINTAINER)"

# What make dist has built, checked with Debian's own tools, which it installs. It needs root, because it installs the package and
# removes it again.
dist-check:
	@scripts/dist-check dist

bench:
	QUITTANCE_TEST_ENGINES=sqlite go test -run '^$$' -bench . -benchmem $(PACKAGES)

# The measurements of docs/benchmarks.md, on both engines, as JSON lines. Needs an hour of an idle machine and some gigabytes.
# make bench-tables DRAFTS=100000 for a smaller list.
bench-tables: build
	@scripts/setup
	CGO_ENABLED=0 go build -o $(BIN)/pgcluster ./test/pgtest/cmd/pgcluster
	@DRAFTS=$(DRAFTS) scripts/bench-tables

# The official schemas and rules of the document formats, over golden and random documents (docs/documents.md says what RULES
# contains): make official-rules RULES=directory DOCUMENTS=5000
DOCUMENTS ?= 1000
official-rules:
	@scripts/official-rules "$(RULES)" $(DOCUMENTS)

# What the product can say of the official examples of the document formats, and that it accepts them (docs/dev/commands.md says what
# EXAMPLES contains): make official-examples EXAMPLES=directory
official-examples:
	@test -d "$(EXAMPLES)" || { echo "usage: make official-examples EXAMPLES=DIRECTORY"; exit 1; }
	QUITTANCE_EXAMPLES="$(abspath $(EXAMPLES))" go test -count=1 -run TestOfficialExamples -v ./internal/document

# The adapters against mock servers that another program makes from the providers' OpenAPI documents; needs npm:
# make provider-mocks OPENAPI=file (docs/providers/e-invoice-be.md says which)
provider-mocks:
	@scripts/provider-mocks "$(OPENAPI)"

clean:
	rm -rf $(BIN) bin dist
