//! Records a program: any command runs between two proxies, one to its MCP servers and one to its model.
//!
//! Both proxies are paths of one listener on loopback. They forward what they get, as it arrives, and keep a copy in the
//! ledgers. `ledger` collects, `listen` accepts and routes, `model` and `mcp` forward, `program` runs the command.

mod body;
mod capture;
mod config;
mod fault;
mod ledger;
mod listen;
mod mcp;
mod model;
mod private;
mod program;
mod replay;
mod tap;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use mcptest_core::ledger::{Ledger, url_variable};
use mcptest_core::redact::Redactor;
use mcptest_core::suite::Fault;

pub use mcp::shim::{ShimError, shim};
pub use model::{UpstreamError, Upstreams};
pub(crate) use private::PrivateFolder;
pub use program::{Exit, Finished, Program, ProgramError, Streams};
pub use replay::Player;

use crate::mcp::Endpoint;
use crate::process::Processes;
use config::Config;
use ledger::Recorder;
use listen::Proxies;
use mcp::Gateways;

/// Hosts that are reached without a proxy.
const LOOPBACK: &str = "127.0.0.1,localhost,::1";

/// What a recording starts with.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The servers of the program, by name.
    pub servers: Vec<(String, Endpoint)>,
    /// The list of running children that servers are added to.
    pub processes: Processes,
    pub upstreams: Upstreams,
    /// Names and values that are never written.
    pub secrets: Vec<(String, String)>,
    /// The program that is started as `shim`, for clients that only start programs: mcptest itself.
    pub shim: &'a Path,
    /// Hosts that the program already reaches without a proxy.
    pub no_proxy: Option<String>,
    pub rerun: Option<RerunSetup>,
    /// Faults injected in real time; the first one that matches applies.
    pub faults: Vec<Fault>,
}

/// For a rerun: its model, and its servers unless they are restarted, answer from a recording.
#[derive(Debug)]
pub struct RerunSetup {
    pub player: Player,
    /// The servers that answer from the recording. The others are [`Setup::servers`].
    pub servers: Vec<String>,
}

/// A recording in progress. Dropping it closes the proxies.
#[derive(Debug)]
pub struct Recording {
    recorder: Recorder,
    proxies: Proxies,
    config: Config,
    servers: Vec<String>,
    no_proxy: Option<String>,
    /// Whether the program runs again, and reaches nothing but its recording.
    is_rerun: bool,
}

impl Recording {
    pub async fn start(setup: Setup<'_>) -> io::Result<Self> {
        let mut servers: Vec<String> = setup.servers.iter().map(|(name, _)| name.clone()).collect();
        let recorder = Recorder::new(servers.clone(), setup.secrets, setup.faults);
        for password in setup.upstreams.passwords() {
            recorder.learn("password", password);
        }
        let player = setup.rerun.as_ref().map(|rerun| rerun.player.clone());
        let gateways = match &setup.rerun {
            Some(RerunSetup { player, servers: known }) if !known.is_empty() => {
                servers.clone_from(known);
                Gateways::recorded(known, player)
            }
            _ => {
                Gateways::new(setup.servers, &setup.processes, &recorder, player.as_ref()).map_err(io::Error::other)?
            }
        };
        let proxies = Proxies::start(&recorder, setup.upstreams, gateways, player).await?;
        let config = Config::write(&proxies.base, &proxies.token, &servers, setup.shim)?;
        // Every run has another one; what is recorded should not differ by it.
        recorder.learn("proxy", &proxies.base);
        if let Some(rerun) = &setup.rerun {
            rerun.player.set_secrets(recorder.redactor(), recorder.secrets());
        }
        Ok(Self { recorder, proxies, config, servers, no_proxy: setup.no_proxy, is_rerun: setup.rerun.is_some() })
    }

    /// The variables that lead a program to the proxies.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let mut out = self.proxies.variables();
        for server in &self.servers {
            out.insert(url_variable(server), format!("{}/mcp/{server}", self.proxies.base));
        }
        out.insert("MCPTEST_MCP_CONFIG".to_owned(), self.config.http().display().to_string());
        out.insert("MCPTEST_MCP_CONFIG_STDIO".to_owned(), self.config.stdio().display().to_string());
        let no_proxy = match self.no_proxy.as_deref() {
            Some(hosts) if !hosts.trim().is_empty() && !self.is_rerun => format!("{hosts},{LOOPBACK}"),
            _ => LOOPBACK.to_owned(),
        };
        out.insert("NO_PROXY".to_owned(), no_proxy.clone());
        out.insert("no_proxy".to_owned(), no_proxy);
        if self.is_rerun {
            // Requests to any other host end up here and get an error.
            for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
                out.insert(name.to_owned(), self.proxies.origin());
                out.insert(name.to_ascii_lowercase(), self.proxies.origin());
            }
        }
        out
    }

    /// Closes the proxies. Returns what passed, without secrets, and the redactor that knows all of them.
    pub async fn finish(self) -> (Ledger, Redactor) {
        self.proxies.close().await;
        self.recorder.finish()
    }
}
