//! Files that lead MCP clients to the proxies: one for clients that speak HTTP, one for those that only start programs.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use mcptest_core::json;
use serde_json::{Map, json};

/// A private folder with the files. It is removed when dropped.
#[derive(Debug)]
pub(super) struct Config {
    folder: PathBuf,
}

impl Config {
    /// Writes `mcp.json`, `mcp-stdio.json` and a file for each shim.
    pub(super) fn write(base: &str, token: &str, servers: &[String], shim: &Path) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("mcptest-{token}"));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        let config = Self { folder };
        let (mut http, mut stdio) = (Map::new(), Map::new());
        for server in servers {
            http.insert(server.clone(), json!({ "type": "http", "url": format!("{base}/mcp/{server}") }));
            let file = config.folder.join(format!("{server}.shim.json"));
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
        self.folder.join("mcp.json")
    }

    pub(super) fn stdio(&self) -> PathBuf {
        self.folder.join("mcp-stdio.json")
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // What is left is a private file with an address that no longer answers.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
