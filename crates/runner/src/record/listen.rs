//! The listener on loopback: accepts connections, checks the client, and routes to a proxy by path.
//!
//! Every path begins with a token that cannot be guessed, so that no other program and no web page reaches the proxies.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use mcptest_core::loopback::{is_local_host, is_local_origin};
use mcptest_core::redact::hex;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::body::{Body, whole};
use super::ledger::Recorder;
use super::mcp::Gateways;
use super::model::{Provider, Upstreams, all_variables, forward};
use super::replay::Player;

/// The proxies of one recording. Dropping them closes every connection.
#[derive(Debug)]
pub(super) struct Proxies {
    pub(super) token: String,
    /// `http://127.0.0.1:PORT/TOKEN`
    pub(super) base: String,
    upstreams: Arc<Upstreams>,
    gateways: Arc<Gateways>,
    player: Option<Player>,
    task: JoinHandle<()>,
}

struct Routes {
    token: String,
    upstreams: Arc<Upstreams>,
    gateways: Arc<Gateways>,
    recorder: Recorder,
    /// Answers in place of every provider.
    player: Option<Player>,
}

impl Proxies {
    pub(super) async fn start(
        recorder: &Recorder,
        upstreams: Upstreams,
        gateways: Gateways,
        player: Option<Player>,
    ) -> io::Result<Self> {
        let token = token()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        let base = format!("http://{bound}/{token}");
        let (upstreams, gateways) = (Arc::new(upstreams), Arc::new(gateways));
        let routes = Routes {
            token: token.clone(),
            upstreams: Arc::clone(&upstreams),
            gateways: Arc::clone(&gateways),
            recorder: recorder.clone(),
            player: player.clone(),
        };
        let task = tokio::spawn(accept(listener, Arc::new(routes)));
        Ok(Self { token, base, upstreams, gateways, player, task })
    }

    /// `http://127.0.0.1:PORT`
    pub(super) fn origin(&self) -> String {
        self.base.trim_end_matches(&self.token).trim_end_matches('/').to_owned()
    }

    /// The variables that lead a program to its model.
    pub(super) fn variables(&self) -> BTreeMap<String, String> {
        match self.player {
            Some(_) => all_variables(&self.base),
            None => self.upstreams.variables(&self.base),
        }
    }

    /// Closes every connection. A response in progress is recorded as cut off.
    pub(super) async fn close(mut self) {
        self.task.abort();
        // It was aborted, so it ends immediately.
        let _ = (&mut self.task).await;
        self.gateways.close().await;
    }
}

impl Drop for Proxies {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// 128 random bits as text.
pub(super) fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    let filled = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(hex(&bytes))
}

async fn accept(listener: TcpListener, routes: Arc<Routes>) {
    // Dropping it closes every connection.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(Arc::clone(&routes), stream));
                }
                // Out of file handles, or the program has left.
                Err(_) => sleep(Duration::from_millis(10)).await,
            }
        }
    }
}

async fn connection(routes: Arc<Routes>, stream: TcpStream) {
    // Send small pieces at once.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let routes = Arc::clone(&routes);
        async move { Ok::<_, std::convert::Infallible>(routes.answer(request).await) }
    });
    let http = hyper::server::conn::http1::Builder::new();
    // A program that closes its connection is not an error.
    let _ = http.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
}

impl Routes {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if self.player.is_some()
            && let Some(host) = request.uri().host()
        {
            // A request to a proxy names the host it is for.
            let why = format!("a rerun reaches only its recording, not {host}");
            return plain(StatusCode::FORBIDDEN, &why);
        }
        if let Some(why) = cross_site(request.headers()) {
            return plain(StatusCode::FORBIDDEN, why);
        }
        let path = request.uri().path().to_owned();
        let Some(rest) = path.strip_prefix('/').and_then(|path| path.strip_prefix(self.token.as_str())) else {
            return plain(StatusCode::NOT_FOUND, "not found");
        };
        let (route, rest) = match rest.strip_prefix('/').unwrap_or_default().split_once('/') {
            Some((route, rest)) => (route, rest),
            None => (rest.trim_start_matches('/'), ""),
        };
        match route {
            "mcp" => return self.gateways.serve(rest, request).await,
            "lines" => return self.gateways.lines(rest, request),
            _ => {}
        }
        if let Some(player) = &self.player {
            return match Provider::of(route) {
                Some(provider) => player.model(provider, rest, request).await,
                None => plain(StatusCode::NOT_FOUND, "not found"),
            };
        }
        match self.upstreams.get(route) {
            Some(upstream) => forward(upstream, &self.recorder, rest, request).await,
            None => plain(StatusCode::NOT_FOUND, "not found"),
        }
    }
}

/// Why a request may come from a web page.
fn cross_site(headers: &HeaderMap) -> Option<&'static str> {
    let all =
        |name, is_local: fn(&str) -> bool| headers.get_all(name).iter().all(|value| value.to_str().is_ok_and(is_local));
    if !all(ORIGIN, is_local_origin) {
        Some("the Origin is not local")
    } else if !headers.contains_key(HOST) || !all(HOST, is_local_host) {
        Some("the Host is not local")
    } else {
        None
    }
}

pub(super) fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(whole(format!("mcptest: {text}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
