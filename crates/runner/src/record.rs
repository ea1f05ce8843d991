//! Records a program: any command runs between two proxies, one to its MCP servers and one to its model.
//!
//! Both proxies are paths of one listener on loopback. They forward what they get, as it arrives, and keep a copy in the
//! ledgers. `ledger` collects, `listen` accepts and routes, `model` and `mcp` forward, `program` runs the command.

mod capture;
mod ledger;
mod listen;
mod model;
mod program;

pub use ledger::Recorder;
pub use listen::{ListenError, Proxies};
pub use model::{Upstream, UpstreamError, Upstreams};
pub use program::{Exit, Finished, Program, ProgramError};
