//! Settings that all HTTP clients of this crate share: the TLS provider, and which addresses are local.

use std::fmt;
use std::net::IpAddr;
use std::sync::Once;

use reqwest::{Client, ClientBuilder, Url, redirect};

use crate::resolver::Resolver;

/// An HTTP client builder. It follows no redirects, because requests carry keys.
pub(crate) fn client() -> ClientBuilder {
    static CHOSEN: Once = Once::new();
    // A client needs a TLS provider, and it can be installed only once.
    CHOSEN.call_once(|| {
        // Fails if a program that uses this library has installed one, which works as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    Client::builder()
        .redirect(redirect::Policy::none())
        .user_agent(concat!("mcptest/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Resolver)
}

/// Whether a URL points to this machine. A proxy would resolve the same name to another machine.
pub(crate) fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
    host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(is_loopback)
}

/// Why a text is not an address. The program carries no Unicode tables, so host names are ASCII.
pub(crate) fn url_error(text: &str, error: &dyn fmt::Display) -> String {
    let hint = if text.is_ascii() { "" } else { "; write an international host name in its `xn--` form" };
    format!("{error}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_international_host_name_is_accepted_in_its_ascii_form_only() {
        assert_eq!(
            Url::parse("https://xn--mnchen-3ya.example/mcp").unwrap().host_str(),
            Some("xn--mnchen-3ya.example")
        );
        let text = "https://m\u{fc}nchen.example/mcp";
        let message = url_error(text, &Url::parse(text).unwrap_err());
        assert_eq!(message, "invalid international domain name; write an international host name in its `xn--` form");
        assert_eq!(url_error("https://", &Url::parse("https://").unwrap_err()), "empty host");
        assert!(Url::parse("https://a.example/\u{fc}").is_ok());
    }

    #[test]
    fn only_addresses_of_this_machine_are_local() {
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]:1/", true),
            ("http://localhost.example.test/", false),
            ("http://10.0.0.1/", false),
            ("http://[::2]/", false),
            ("http://a.localhost/", true),
            ("http://0.0.0.0:1/", true),
        ] {
            assert_eq!(is_local(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
