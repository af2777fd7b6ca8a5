# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Server and command-line program, CPU backend, on Debian 12. From the root of the sources:
#   docker build -f docker/cpu.Dockerfile -t orbserve:cpu .
#   docker run --rm -p 50051:50051 -p 9464:9464 orbserve:cpu

FROM debian:12-slim AS build
COPY script/packages /src/script/packages
RUN /src/script/packages build
COPY . /src
RUN cmake -S /src -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DORBSERVE_ENABLE_CUDA=OFF -DORBSERVE_BUILD_TESTS=OFF \
      -DCMAKE_INSTALL_PREFIX=/usr \
 && cmake --build /build \
 && DESTDIR=/image cmake --install /build --strip

FROM debian:12-slim
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      libgrpc++1.51 libssl3 libprotobuf32 libabsl20220623 libhwy1 libtbb12 libspdlog1.10 libprometheus-cpp-core1.0 \
      libjpeg62-turbo libturbojpeg0 libpng16-16 libhdf5-103-1 libsqlite3-0 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /image/usr/bin/ /usr/bin/
COPY --from=build /image/usr/share/orbserve/ /usr/share/orbserve/
COPY --from=build /image/usr/share/doc/orbserve/ /usr/share/doc/orbserve/
USER 10001:10001
EXPOSE 50051 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["orbserve", "health", "--server", "127.0.0.1:50051"]
# Inside a container the loopback address would reach nobody. --insecure allows plain text without authentication: publish
# the ports with care, or mount certificates and override the arguments: --tls-cert, --tls-key, --tls-client-ca.
ENTRYPOINT ["orbserve-server", "--http-listen", "0.0.0.0:9464"]
CMD ["--listen", "0.0.0.0:50051", "--insecure"]
LABEL org.opencontainers.image.title="orbserve" \
      org.opencontainers.image.description="Visual features over gRPC, CPU backend" \
      org.opencontainers.image.licenses="Apache-2.0"
