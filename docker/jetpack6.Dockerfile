# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Server and command line for Jetson with JetPack 6 (Ubuntu 22.04, CUDA 12.6): Orin. Ubuntu 22.04 has gRPC 1.30 and no
# prometheus-cpp, and other libraries are too old, so they are built first, in the versions of Debian 12, into /opt/orbserve.
# Build it on the Jetson or on another arm64 machine, from the root of the sources; gRPC takes an hour on an Orin Nano:
#   docker build -f docker/jetpack6.Dockerfile --build-arg REVISION=$(git describe --always --dirty) \
#     -t orbserve:jetpack6 .
#   docker run --rm --read-only --runtime nvidia --group-add video -p 127.0.0.1:50051:50051 \
#     -p 127.0.0.1:9464:9464 orbserve:jetpack6
# Sensors of power are files of /sys, which Docker shows to containers, to read only.

ARG TOOLKIT=nvcr.io/nvidia/l4t-jetpack:r36.4.0
ARG BASE=nvcr.io/nvidia/l4t-base:r36.2.0

FROM ${TOOLKIT} AS build
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      g++-12 git ninja-build pkg-config python3-pip zlib1g-dev libssl-dev libjpeg-dev libturbojpeg0-dev libpng-dev libhdf5-dev libsqlite3-dev \
 && rm -rf /var/lib/apt/lists/* \
 && pip3 install --no-cache-dir cmake==3.28.4
ENV CC=gcc-12 CXX=g++-12 CUDAHOSTCXX=g++-12 CUDACXX=/usr/local/cuda/bin/nvcc CMAKE_PREFIX_PATH=/opt/orbserve
# One layer for each library, in the order in which they need each other. Everything is a shared library in
# /opt/orbserve/lib, as in Debian.
COPY docker/build-library /usr/local/bin/build-library
RUN build-library https://github.com/abseil/abseil-cpp 20220623.1 -DABSL_PROPAGATE_CXX_STD=ON -DCMAKE_CXX_STANDARD=17
RUN build-library https://github.com/protocolbuffers/protobuf v21.12 -Dprotobuf_BUILD_TESTS=OFF
RUN build-library https://github.com/google/re2 2022-12-01 -DRE2_BUILD_TESTING=OFF
RUN build-library https://github.com/c-ares/c-ares cares-1_18_1 -DCARES_BUILD_TOOLS=OFF
RUN build-library https://github.com/grpc/grpc v1.51.1 -DgRPC_INSTALL=ON -DgRPC_BUILD_TESTS=OFF \
      -DgRPC_ABSL_PROVIDER=package -DgRPC_PROTOBUF_PROVIDER=package -DgRPC_RE2_PROVIDER=package \
      -DgRPC_CARES_PROVIDER=package -DgRPC_SSL_PROVIDER=package -DgRPC_ZLIB_PROVIDER=package \
      -DgRPC_BUILD_GRPC_CSHARP_PLUGIN=OFF -DgRPC_BUILD_GRPC_NODE_PLUGIN=OFF -DgRPC_BUILD_GRPC_OBJECTIVE_C_PLUGIN=OFF \
      -DgRPC_BUILD_GRPC_PHP_PLUGIN=OFF -DgRPC_BUILD_GRPC_PYTHON_PLUGIN=OFF -DgRPC_BUILD_GRPC_RUBY_PLUGIN=OFF
RUN build-library https://github.com/jupp0r/prometheus-cpp v1.0.1 -DENABLE_PULL=OFF -DENABLE_PUSH=OFF \
      -DENABLE_COMPRESSION=OFF -DENABLE_TESTING=OFF
RUN build-library https://github.com/google/highway 1.0.3 -DHWY_ENABLE_EXAMPLES=OFF -DBUILD_TESTING=OFF
RUN build-library https://github.com/oneapi-src/oneTBB v2021.8.0 -DTBB_TEST=OFF
RUN build-library https://github.com/gabime/spdlog v1.10.0 -DSPDLOG_BUILD_EXAMPLE=OFF
RUN build-library https://github.com/CLIUtils/CLI11 v2.1.2 -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF
COPY . /src
ARG REVISION=
RUN cmake -S /src -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DORBSERVE_ENABLE_CUDA=ON \
      -DORBSERVE_CUDA_ARCHITECTURES=87-real -DORBSERVE_BUILD_TESTS=OFF -DORBSERVE_REVISION=${REVISION} \
      -DCMAKE_INSTALL_PREFIX=/opt/orbserve -DCMAKE_INSTALL_SYSCONFDIR=/etc \
 && cmake --build /build \
 && for component in server tools; do DESTDIR=/image cmake --install /build --strip --component "$component"; done \
 && mkdir -p /image/opt/orbserve/lib \
 && ldd /build/bin/orbserve-server /build/bin/orbserve | awk '$3 ~ "^/opt/orbserve/" {print $3}' | sort -u \
      | xargs -I {} cp -L {} /image/opt/orbserve/lib/

FROM ${BASE}
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility PATH=/opt/orbserve/bin:/usr/bin:/bin
COPY --from=build /image/ /
RUN useradd --system --uid 10001 --user-group --no-create-home --home-dir / --shell /usr/sbin/nologin orbserve \
 && apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      libssl3 zlib1g libjpeg-turbo8 libturbojpeg libpng16-16 libhdf5-103-1 libsqlite3-0 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/*.log /var/log/apt \
 && echo /opt/orbserve/lib >/etc/ld.so.conf.d/orbserve.conf && ldconfig
USER 10001:10001
EXPOSE 50051 9464
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["orbserve", "health", "--server", "127.0.0.1:50051"]
# Publish the ports with care, or give certificates (cpu.Dockerfile).
ENTRYPOINT ["orbserve-server", "--http-listen", "0.0.0.0:9464"]
CMD ["--listen", "0.0.0.0:50051", "--insecure"]
LABEL org.opencontainers.image.title="orbserve" \
      org.opencontainers.image.description="Visual features over gRPC, for Jetson with JetPack 6" \
      org.opencontainers.image.licenses="Apache-2.0"
