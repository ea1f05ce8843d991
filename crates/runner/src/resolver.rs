//! DNS lookups on separate threads. The HTTP client's default resolver panics when no thread can be started; this one
//! returns an error, and the request fails.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::thread;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::oneshot;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = lookup(name.as_str().to_owned()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The addresses of a host, without a port.
async fn lookup(host: String) -> io::Result<Vec<SocketAddr>> {
    let (answer, answered) = oneshot::channel();
    thread::Builder::new().spawn(move || {
        let found = (host.as_str(), 0).to_socket_addrs().map(Iterator::collect);
        // Nothing waits for it if the request was dropped.
        let _ = answer.send(found);
    })?;
    answered.await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_addresses_and_one_that_does_not_exist_is_an_error() {
        let runtime = crate::runtime::build().unwrap();
        let found = runtime.block_on(lookup("localhost".to_owned())).unwrap();
        assert!(!found.is_empty() && found.iter().all(|address| address.ip().is_loopback()), "{found:?}");
        assert!(runtime.block_on(lookup("nowhere.invalid.".to_owned())).is_err());
    }
}
