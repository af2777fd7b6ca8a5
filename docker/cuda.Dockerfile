# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Server and command line with the CUDA backend, for amd64 and for arm64 servers: compute capability 7.5 to 12.0. The CUDA
# runtime is linked statically, so the second stage is a plain Ubuntu; the driver's libraries come from the host, by the
# NVIDIA container toolkit. From the root of the sources:
#   docker build -f docker/cuda.Dockerfile --build-arg REVISION=$(git describe --always --dirty) \
#     --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) -t orbserve:cuda .
#   docker run --rm --read-only --gpus all -p 127.0.0.1:50051:50051 -p 127.0.0.1:9464:9464 orbserve:cuda

ARG TOOLKIT=nvidia/cuda:13.0.1-devel-ubuntu24.04
ARG BASE=ubuntu:24.04

FROM ${TOOLKIT} AS build
COPY script/packages /src/script/packages
RUN /src/script/packages build package
COPY . /src
ARG REVISION=
ARG SOURCE_DATE_EPOCH=0
ARG ARCHITECTURES=75-real;80-real;86-real;87-real;89-real;90-real;100-real;110-real;120
RUN SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH} REVISION=${REVISION} \
    /src/script/package --compiled --cuda ON --architectures "${ARCHITECTURES}"

FROM ${BASE}
# The container toolkit gives these to the container; utility is NVML, for power.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN --mount=type=bind,from=build,source=/src/build-package/packages,target=/packages \
    useradd --system --uid 10001 --user-group --no-create-home --home-dir / --shell /usr/sbin/nologin orbserve \
 && apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends systemd-standalone-sysusers \
      /packages/orbserve-server_*.deb /packages/orbserve_*.deb \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/*.log /var/log/apt /usr/share/man /usr/share/locale
USER 10001:10001
EXPOSE 50051 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["orbserve", "health", "--server", "127.0.0.1:50051"]
# Publish the ports with care, or give certificates (cpu.Dockerfile).
ENTRYPOINT ["orbserve-server", "--http-listen", "0.0.0.0:9464"]
CMD ["--listen", "0.0.0.0:50051", "--insecure"]
LABEL org.opencontainers.image.title="orbserve" \
      org.opencontainers.image.description="Visual features over gRPC, CUDA and CPU backend" \
      org.opencontainers.image.licenses="Apache-2.0"
