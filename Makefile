# make run and make test do everything, from the system packages on.
# make help lists the rest.

SHELL := /bin/sh
BIN := bin
OUT ?= dataset
# By count: with a time limit Go's fuzzer now and then fails with its own deadline.
FUZZTIME ?= 1000x
# Debian's Python has the h5py that scripts/setup installs.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
SHERPA_LIB = $$(go list -m -f '{{.Dir}}' github.com/k2-fsa/sherpa-onnx-go-linux)/lib/$$(uname -m)-unknown-linux-gnu
CUDA_H = $(firstword $(wildcard /usr/include/cuda.h /usr/local/cuda/include/cuda.h))

export MELFORGE_PYTHON := $(PYTHON)

.PHONY: help run test build cuda setup lint race fuzz crash python parity bench bench-peers clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile

run: build ## set up, build, and turn the sample corpus into dataset/
	$(BIN)/melforge run samples/corpus.csv --out $(OUT)

test: build lint ## set up, build, lint, and run all tests
	go test ./...
	$(MAKE) python race fuzz

build: setup ## set up and put the binaries into bin/
	@mkdir -p $(BIN)/lib
	go build -tags osusergo -o $(BIN)/melforge ./cmd/melforge
	go build -tags nohdf5 -o $(BIN)/melforge-train ./cmd/melforge-train
	go build -ldflags '-r $$ORIGIN/lib' -o $(BIN)/melforge-tts ./cmd/melforge-tts
	@install -m 644 "$(SHERPA_LIB)/libsherpa-onnx-c-api.so" "$(SHERPA_LIB)/libonnxruntime.so" $(BIN)/lib/
	@test -d $(BIN)/share/espeak-ng-data || $(BIN)/melforge-tts --copy-espeak-data $(BIN)/share/espeak-ng-data
ifneq ($(CUDA_H),)
	go build -tags cuda -o $(BIN)/melforge-cuda ./cmd/melforge-cuda
else
	@echo "melforge-cuda is left out: no cuda.h here (make cuda installs it); mels run on the CPU"
endif

cuda: ## install the CUDA headers (Debian's nvidia-cuda-dev, component non-free) and build the GPU worker
	@scripts/setup nvidia-cuda-dev
	go build -tags cuda -o $(BIN)/melforge-cuda ./cmd/melforge-cuda

setup: ## install what is missing: Debian packages and Go modules
	@scripts/setup

lint: ## gofmt, vet, staticcheck; go test checks the direction of imports
	@fmt=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$fmt" || { echo "gofmt would change: $$fmt"; exit 1; }
	go vet ./...
	go tool staticcheck ./...

# GoMLX's matrix products use pointers in a way that checkptr, which the race
# detector brings along, does not allow. By itself the detector sleeps for a second
# at the end of every process, and the tests start many.
RACE = GORACE=atexit_sleep_ms=10 go test -race -short '-gcflags=github.com/gomlx/compute/...=-d=checkptr=0'
# Of the tool, which is slow with the detector, only what works in parallel.
race: ## the tests under the race detector
	$(RACE) $$(go list ./... | grep -v 'cmd/melforge$$')
	$(RACE) -run 'SameBytes|Interrupt|Incremental|Augment|LongWavs|Layouts|GivenWavs|AheadOfThePlan' ./cmd/melforge

fuzz: ## every fuzzer, FUZZTIME inputs each
	@scripts/fuzz $(FUZZTIME)

crash: ## kill runs at random moments and at every commit point, and compare
	go test -count=1 -run 'Crash|Kill' -v ./cmd/melforge

python: ## the tests of the Python reader
	cd python && $(PYTHON) -m unittest

parity: build ## compare mels, reader and trainer with the real libraries (a virtual environment of several GB)
	scripts/parity
	scripts/parity --python
	scripts/parity-train

bench: build ## the benchmarks that the README quotes
	go test -run '^$$' -bench 'Plan|Soak' -benchtime 1x -timeout 60m ./bench
	go test -run '^$$' -bench Overhead -benchtime 7x -timeout 60m ./bench

bench-peers: setup ## mels against torchaudio, torch.stft, librosa, kaldi-native-fbank and transformers
	scripts/bench-peers

clean: ## remove what make built
	rm -rf $(BIN)
