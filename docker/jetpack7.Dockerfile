# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Server and command line for Jetson with JetPack 7 (Ubuntu 24.04, CUDA 13): Orin and Thor. Build it on the Jetson or on
# another arm64 machine, from the root of the sources:
#   docker build -f docker/jetpack7.Dockerfile --build-arg REVISION=$(git describe --always --dirty) \
#     --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) -t orbserve:jetpack7 .
#   docker run --rm --read-only --runtime nvidia --group-add video -p 127.0.0.1:50051:50051 \
#     -p 127.0.0.1:9464:9464 orbserve:jetpack7
# Sensors of power are files of /sys, which Docker shows to containers, to read only.

ARG TOOLKIT=nvidia/cuda:13.0.1-devel-ubuntu24.04
ARG BASE=ubuntu:24.04

FROM ${TOOLKIT} AS build
COPY script/packages /src/script/packages
RUN /src/script/packages build package
COPY . /src
ARG REVISION=
ARG SOURCE_DATE_EPOCH=0
RUN SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH} REVISION=${REVISION} \
    /src/script/package --compiled --cuda ON --architectures "87-real;110-real"

FROM ${BASE}
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN --mount=type=bind,from=build,source=/src/build-package/packages,target=/packages \
    useradd --system --uid 10001 --user-group --no-create-home --home-dir / --shell /usr/sbin/nologin orbserve \
 && apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends systemd-standalone-sysusers \
      /packages/orbserve-server_*.deb /packages/orbserve_*.deb \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/*.log /var/log/apt /usr/share/man /usr/share/locale
USER 10001:10001
EXPOSE 50051 9464
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["orbserve", "health", "--server", "127.0.0.1:50051"]
# Publish the ports with care, or give certificates (cpu.Dockerfile).
ENTRYPOINT ["orbserve-server", "--http-listen", "0.0.0.0:9464"]
CMD ["--listen", "0.0.0.0:50051", "--insecure"]
LABEL org.opencontainers.image.title="orbserve" \
      org.opencontainers.image.description="Visual features over gRPC, for Jetson with JetPack 7" \
      org.opencontainers.image.licenses="Apache-2.0"
