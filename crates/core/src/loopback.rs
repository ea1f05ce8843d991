//! Which hosts and origins are this machine. A web page can send requests to local servers, with its own `Origin` or, through
//! DNS rebinding, with its own `Host`.

use std::net::IpAddr;

/// Whether an `Origin` header names this machine.
pub fn is_local_origin(origin: &str) -> bool {
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    host.is_some_and(is_local_host)
}

/// Whether a `Host` header is `localhost` or a loopback address, with or without a port.
pub fn is_local_host(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) if rest.is_empty() || is_port(rest) => address,
        Some(_) => return false,
        None => match host.find(':') {
            Some(at) if is_port(&host[at..]) => &host[..at],
            Some(_) => return false,
            None => host,
        },
    };
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// `:8080`
fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|digits| digits.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_local() {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1", "127.9.9.9:65535", "[::1]", "[::1]:80"] {
            assert!(is_local_host(host), "{host}");
            assert!(
                is_local_origin(&format!("http://{host}")) && is_local_origin(&format!("https://{host}")),
                "{host}"
            );
        }
        for host in [
            "",
            "example.test",
            "localhost.example.test",
            "127.0.0.1.example.test",
            "10.0.0.1",
            "[::2]",
            "[::1]x",
            "localhost:",
            "localhost:x",
            "localhost:99999",
            "localhost@example.test",
            "null",
        ] {
            assert!(!is_local_host(host), "{host}");
        }
        assert!(!is_local_origin("localhost") && !is_local_origin("null") && !is_local_origin("file://localhost"));
    }
}
