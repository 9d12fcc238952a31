# The gateway, installed from its package, without a PostgreSQL: docker-compose.yml gives it one.
#
#   docker build -t carillon .
#   docker run --rm carillon --help

FROM swift:6.3.1-bookworm AS build
# Debian's stable versions change only for security fixes, and older ones are removed.
# hadolint ignore=DL3008
RUN apt-get update -q \
    && apt-get install -y -q --no-install-recommends libnghttp2-dev libpq-dev libssl-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /carillon
COPY Package.swift README.md CHANGELOG.md LICENSE ./
COPY Sources Sources
COPY Tests Tests
COPY migrations migrations
COPY docs docs
COPY scripts scripts
RUN scripts/package

FROM debian:bookworm-slim
COPY --from=build /carillon/.build/package/carillon_*.deb /tmp/
# The user has a number that no other image gives, and that volumes can be made for.
# hadolint ignore=DL3008
RUN useradd --system --uid 10001 --home-dir /var/lib/carillon --create-home --shell /usr/sbin/nologin carillon \
    && apt-get update -q \
    && apt-get install -y -q --no-install-recommends /tmp/carillon_*.deb \
    && rm -rf /var/lib/apt/lists/* /tmp/carillon_*.deb
USER 10001:10001
WORKDIR /var/lib/carillon
ENV CARILLON_LISTEN=0.0.0.0:8080
# A crash must write no registers and no memory to the log: they hold keys, tokens and payloads.
ENV SWIFT_BACKTRACE=enable=no
EXPOSE 8080
# SIGTERM drains, as Ctrl-C does.
STOPSIGNAL SIGTERM
ENTRYPOINT ["carillon"]
CMD ["serve"]
