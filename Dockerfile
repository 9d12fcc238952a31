# The gateway, without a PostgreSQL: give it one with CARILLON_DATABASE_URL (docker-compose.yml shows how).
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
COPY Package.swift ./
COPY Sources Sources
COPY Tests Tests
COPY migrations migrations
COPY docs docs
RUN swift build -c release --product carillon && strip .build/release/carillon

# The libraries of the same Swift version, without its compiler.
FROM swift:6.3.1-bookworm-slim
# hadolint ignore=DL3008
RUN apt-get update -q \
    && apt-get install -y -q --no-install-recommends ca-certificates libnghttp2-14 libpq5 libssl3 tzdata \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/carillon --create-home --shell /usr/sbin/nologin carillon
COPY --from=build /carillon/.build/release/carillon /usr/local/bin/carillon
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
