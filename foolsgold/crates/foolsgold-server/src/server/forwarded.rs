//! What a proxy says about the client: `X-Forwarded-For` and `X-Forwarded-Proto` from trusted peers. From any other
//! peer these fields are dropped, so that no application trusts them.

use super::client::Connection;
use super::peer::Peer;
use crate::config::Network;
use http::{HeaderMap, HeaderName};
use std::net::IpAddr;

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Every field in which a proxy describes the client.
const FIELDS: [HeaderName; 7] = [
    FOR,
    PROTO,
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-port"),
    HeaderName::from_static("x-forwarded-scheme"),
    HeaderName::from_static("x-forwarded-ssl"),
    HeaderName::from_static("forwarded"),
];

/// The client as far as it is known.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) peer: Option<IpAddr>,
    pub(super) scheme: &'static str,
}

/// Determines the client.
pub(super) fn client(trusted: &[Network], connection: &Connection, headers: &mut HeaderMap) -> Client {
    of_peer(trusted, connection.peer(), connection.scheme(), headers)
}

fn of_peer(trusted: &[Network], peer: Peer, scheme: &'static str, headers: &mut HeaderMap) -> Client {
    let client = Client { peer: peer.address(), scheme };
    if !FIELDS.iter().any(|name| headers.contains_key(name)) {
        return client;
    }
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    if !peer.address().is_none_or(is_trusted) {
        for name in FIELDS {
            headers.remove(name);
        }
        return client;
    }
    // Each proxy appends its peer: from the end, the first address that is not one of our proxies is the client.
    let heard: Vec<IpAddr> = headers
        .get_all(FOR)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map_while(|text| text.trim().parse().ok())
        .collect();
    let outermost = heard.iter().rev().find(|address| !is_trusted(**address)).or(heard.first());
    let proto = headers.get_all(PROTO).iter().next_back().and_then(|value| value.to_str().ok());
    let scheme = match proto.and_then(|value| value.rsplit(',').next()).map(str::trim) {
        Some("https") => "https",
        Some("http") => "http",
        _ => scheme,
    };
    Client { peer: outermost.copied().or(client.peer), scheme }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(peer: Peer, fields: &[(&'static str, &str)]) -> (Option<String>, &'static str, usize) {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, value.parse().unwrap());
        }
        let client = of_peer(&trusted, peer, "http", &mut headers);
        (client.peer.map(|peer| peer.to_string()), client.scheme, headers.len())
    }

    #[test]
    fn only_a_trusted_peer_says_who_the_client_is() {
        let fields = [("x-forwarded-for", "1.2.3.4"), ("x-forwarded-proto", "https")];
        let stranger = Peer::Address([9, 9, 9, 9].into());
        let proxy = Peer::Address([10, 0, 0, 1].into());
        assert_eq!(forwarded(stranger, &fields), (Some("9.9.9.9".into()), "http", 0));
        assert_eq!(forwarded(proxy, &fields), (Some("1.2.3.4".into()), "https", 2));
        assert_eq!(forwarded(Peer::Local, &fields), (Some("1.2.3.4".into()), "https", 2));
        assert_eq!(forwarded(proxy, &[]), (Some("10.0.0.1".into()), "http", 0));
    }

    #[test]
    fn what_a_client_claims_itself_does_not_count() {
        let proxy = Peer::Address([10, 0, 0, 1].into());
        let claimed = [("x-forwarded-for", "6.6.6.6, 1.2.3.4, 10.0.0.7")];
        assert_eq!(forwarded(proxy, &claimed).0.as_deref(), Some("1.2.3.4"));
        let split = [("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "1.2.3.4")];
        assert_eq!(forwarded(proxy, &split).0.as_deref(), Some("1.2.3.4"));
        assert_eq!(forwarded(proxy, &[("x-forwarded-for", "nonsense")]).0.as_deref(), Some("10.0.0.1"));
    }
}
