//! Configuration files that point MCP clients to the proxies: one for clients that support HTTP, one for clients that only
//! start programs.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use mcptest_core::json;
use serde_json::{Map, json};

use super::private::PrivateFolder;

/// A private folder with the files.
#[derive(Debug)]
pub(super) struct Config {
    folder: PrivateFolder,
}

impl Config {
    /// Writes `mcp.json`, `mcp-stdio.json` and a file for each shim.
    pub(super) fn write(base: &str, token: &str, servers: &[String], shim: &Path) -> io::Result<Self> {
        let config = Self { folder: PrivateFolder::named(token)? };
        let (mut http, mut stdio) = (Map::new(), Map::new());
        for server in servers {
            http.insert(server.clone(), json!({ "type": "http", "url": format!("{base}/mcp/{server}") }));
            let file = config.folder.path().join(format!("{server}.shim.json"));
            create(&file, &json::pretty(&json!({ "url": format!("{base}/lines/{server}") })))?;
            let args = ["shim".to_owned(), file.display().to_string()];
            stdio.insert(
                server.clone(),
                json!({ "type": "stdio", "command": shim.display().to_string(), "args": args }),
            );
        }
        create(&config.http(), &json::pretty(&json!({ "mcpServers": http })))?;
        create(&config.stdio(), &json::pretty(&json!({ "mcpServers": stdio })))?;
        Ok(config)
    }

    pub(super) fn http(&self) -> PathBuf {
        self.folder.path().join("mcp.json")
    }

    pub(super) fn stdio(&self) -> PathBuf {
        self.folder.path().join("mcp-stdio.json")
    }
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
