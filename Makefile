# make run and make test do everything, from the system packages on.
# make help lists the rest.

SHELL := /bin/sh
BIN := bin
OUT ?= dataset
FUZZTIME ?= 5s
SHERPA_LIB = $$(go list -m -f '{{.Dir}}' github.com/k2-fsa/sherpa-onnx-go-linux)/lib/$$(uname -m)-unknown-linux-gnu

.PHONY: help run test build setup lint race fuzz crash bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile

run: build ## set up, build, and turn the sample corpus into dataset/
	$(BIN)/melforge run samples/corpus.csv --out $(OUT)

test: build lint ## set up, build, lint, and run all tests
	go test ./...
	$(MAKE) race fuzz

build: setup ## set up and put the binaries into bin/
	@mkdir -p $(BIN)/lib
	go build -tags osusergo -o $(BIN)/melforge ./cmd/melforge
	go build -ldflags '-r $$ORIGIN/lib' -o $(BIN)/melforge-tts ./cmd/melforge-tts
	@install -m 644 "$(SHERPA_LIB)/libsherpa-onnx-c-api.so" "$(SHERPA_LIB)/libonnxruntime.so" $(BIN)/lib/

setup: ## install what is missing: Debian packages and Go modules
	@scripts/setup

lint: ## gofmt, vet, staticcheck and the direction of imports
	@fmt=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$fmt" || { echo "gofmt would change: $$fmt"; exit 1; }
	go vet ./...
	go tool staticcheck ./...

race: ## the tests under the race detector
	go test -race -short ./...

fuzz: ## every fuzzer for FUZZTIME
	@scripts/fuzz $(FUZZTIME)

crash: ## kill runs at random moments and at every commit point, and compare
	go test -count=1 -run 'Crash|Kill' -v ./cmd/melforge

bench: build ## the benchmarks that the README quotes
	go test -run '^$$' -bench . -benchtime 1x ./bench

clean: ## remove what make built
	rm -rf $(BIN)
