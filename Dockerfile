# The program in an image: `docker build -t mcptest .`, then `docker run --rm -v "$PWD:/suite" mcptest run tests/`.
# Servers that a suite starts by command are not in it; see docs/installing.md.

FROM rust:1.95-slim-trixie AS build
WORKDIR /src
# Only what the build reads; .dockerignore lets nothing else through.
COPY Cargo.toml Cargo.lock ./
COPY crates crates
COPY xtask xtask
RUN cargo build --release --locked --package mcptest

# The release of Debian that the program was built on, so that it finds its C library.
FROM debian:trixie-slim
# TLS trusts what the system trusts: without these certificates no model and no remote server is believed.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/*
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/mcptest/
COPY --from=build /src/target/release/mcptest /usr/local/bin/mcptest
# Nothing needs a name or a home; whoever mounts a folder to write into may choose another with --user.
USER 10001:10001
WORKDIR /suite
ENTRYPOINT ["mcptest"]
CMD ["--help"]
