//! An MCP server that misbehaves on request, with framing of its own so that it can break it.
//!
//! Empty so far: it grows with the first command that needs a server to test against.
