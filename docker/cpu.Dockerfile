# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Server and command line, CPU backend, for amd64 and arm64: the Debian packages of script/package on the image that they
# were built on. From the root of the sources:
#   docker build -f docker/cpu.Dockerfile --build-arg REVISION=$(git describe --always --dirty) \
#     --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) -t orbserve:cpu .
#   docker run --rm --read-only -p 127.0.0.1:50051:50051 -p 127.0.0.1:9464:9464 orbserve:cpu
# `docker buildx build --platform linux/amd64,linux/arm64` makes both.

ARG BASE=debian:12-slim

FROM ${BASE} AS build
COPY script/packages /src/script/packages
RUN /src/script/packages build package
COPY . /src
ARG REVISION=
ARG SOURCE_DATE_EPOCH=0
RUN SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH} REVISION=${REVISION} \
    /src/script/package --compiled --cuda OFF

FROM ${BASE}
RUN --mount=type=bind,from=build,source=/src/build-package/packages,target=/packages \
    useradd --system --uid 10001 --user-group --no-create-home --home-dir / --shell /usr/sbin/nologin orbserve \
 && apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends systemd-standalone-sysusers \
      /packages/orbserve-server_*.deb /packages/orbserve_*.deb \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/*.log /var/log/apt /usr/share/man /usr/share/locale
USER 10001:10001
EXPOSE 50051 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["orbserve", "health", "--server", "127.0.0.1:50051"]
# Inside a container the loopback address would reach nobody. --insecure allows plain text without authentication: publish
# the ports with care, or mount certificates and override the arguments: --tls-cert, --tls-key, --tls-client-ca.
ENTRYPOINT ["orbserve-server", "--http-listen", "0.0.0.0:9464"]
CMD ["--listen", "0.0.0.0:50051", "--insecure"]
LABEL org.opencontainers.image.title="orbserve" \
      org.opencontainers.image.description="Visual features over gRPC, CPU backend" \
      org.opencontainers.image.licenses="Apache-2.0"
