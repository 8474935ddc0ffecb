# Melforge without a GPU, as a command and as a worker of Beam's runners:
#
#   docker build -t melforge .
#   docker run --rm -v "$PWD:/data" -u "$(id -u):$(id -g)" melforge run corpus.txt --out dataset
#   docker run --rm -p 50000:50000 -v /shared:/shared melforge --worker_pool
#
# scripts/prove-image builds it and tries all of that without Docker.
ARG GO_IMAGE=golang:1.26-bookworm
ARG BASE_IMAGE=debian:12-slim

FROM ${GO_IMAGE} AS build
RUN apt-get update \
	&& apt-get install -y --no-install-recommends gcc libc6-dev libhdf5-dev \
	&& rm -rf /var/lib/apt/lists/*

# For machines that reach modules in their own way; unset, Go's defaults hold.
ARG GOPROXY
ARG GOSUMDB

WORKDIR /src
COPY . .
# Beam's boot loader is built from the module that go.mod names, so that it
# always fits the SDK inside melforge. The licences of all that is linked in
# go where the programs go.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
	set -eu; \
	boot=github.com/apache/beam/sdks/v2/go/container; \
	export CGO_ENABLED=1 GOFLAGS='-trimpath -buildvcs=false -tags=osusergo'; \
	mkdir -p /out/melforge/bin/lib /out/beam; \
	go build -ldflags '-s -w' -o /out/melforge/bin/ ./cmd/melforge; \
	go build -ldflags '-s -w' -tags osusergo,nohdf5 -o /out/melforge/bin/ ./cmd/melforge-train; \
	go build -ldflags '-s -w -r $ORIGIN/lib' -o /out/melforge/bin/ ./cmd/melforge-tts; \
	go build -ldflags '-s -w' -o /out/beam/boot "$boot"; \
	sherpa=$(go list -m -f '{{.Dir}}' github.com/k2-fsa/sherpa-onnx-go-linux)/lib/$(uname -m)-unknown-linux-gnu; \
	install -m 644 "$sherpa/libsherpa-onnx-c-api.so" "$sherpa/libonnxruntime.so" /out/melforge/bin/lib/; \
	go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}' ./cmd/melforge ./cmd/melforge-train ./cmd/melforge-tts "$boot" \
	| sort -u | while read -r path dir; do \
		find "$dir" -maxdepth 1 -type f '(' -iname 'LICEN[CS]E*' -o -iname 'COPYING*' -o -iname 'NOTICE*' -o -iname 'MODEL_CARD*' ')' \
			-exec install -D -m 644 -t "/out/melforge/licenses/$path" '{}' +; \
	done

FROM ${BASE_IMAGE}
RUN apt-get update \
	&& apt-get install -y --no-install-recommends \
		ca-certificates espeak-ng espeak-ng-data libhdf5-103-1 libhdf5-hl-100 libstdc++6 \
	&& rm -rf /var/lib/apt/lists/*

# With -u a container can write to a folder of whoever started it. Such a user
# has no entry in passwd, so the cache is for everybody, and Beam, which wants
# a user's home as soon as it starts, finds USER and HOME (osusergo, above).
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin melforge \
	&& install -d -o melforge -g melforge /data \
	&& install -d -o melforge -g melforge -m 1777 /var/cache/melforge
ENV PATH=/opt/melforge/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	MELFORGE_CACHE=/var/cache/melforge USER=melforge HOME=/data

COPY --from=build /out/melforge /opt/melforge
COPY --from=build /out/beam /opt/apache/beam
COPY scripts/docker-entrypoint /opt/melforge/bin/docker-entrypoint
COPY samples /opt/melforge/samples
COPY LICENSE NOTICE* /opt/melforge/

USER 10001:10001
WORKDIR /data
ENTRYPOINT ["/opt/melforge/bin/docker-entrypoint"]
