//! Random conversations over real connections: the scripts of the differential test of `mcptest-core` are played through both
//! proxies, in any encoding, and the trace must be what the script says.

mod program;
#[path = "../../../../core/tests/it/differential/rng.rs"]
mod rng;
mod upstream;

use rng::Rng;
