# `docker build -t mcptest .`, then `docker run --rm -v "$PWD:/suite" mcptest run tests/`.
# Servers that a suite starts with a command are not in the image; see docs/installing.md.

FROM rust:1.95-slim-trixie AS build
WORKDIR /src
# Only what the build reads; .dockerignore excludes everything else.
COPY Cargo.toml Cargo.lock ./
COPY crates crates
COPY xtask xtask
RUN cargo build --release --locked --package mcptest

# The Debian release that the program was built on, so that its C library matches.
FROM debian:trixie-slim
# TLS uses the certificates of the system. Without them no model and no remote server can be reached.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/*
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/mcptest/
COPY --from=build /src/target/release/mcptest /usr/local/bin/mcptest
# The program needs no user name and no home folder. To write into a mounted folder, choose a user with --user.
USER 10001:10001
WORKDIR /suite
ENTRYPOINT ["mcptest"]
CMD ["--help"]
