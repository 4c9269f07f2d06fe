//! Where a request of ours may go: rules of hosts, and the addresses that no rule opens.
//!
//! Pure. A rule is `host`, `*.domain` (every host below it), either with a port, or a whole origin
//! `scheme://host[:port]`. A host without a scheme means https. The word `public`, where it is taken,
//! stands for https to every public host. Private, loopback, link-local and metadata addresses are
//! refused in every spelling unless a rule names that very address: the URL parser has already turned
//! `2130706433`, `0x7f.1` and `127.1` into `127.0.0.1`. What a name resolves to is not seen here; the
//! platform's own network reaches public addresses only.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// Where requests may go; nowhere by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules {
    rules: Vec<Rule>,
    /// Whether https to every public host is allowed.
    public: bool,
    /// What holds the rules, for whoever is refused: a variable's name.
    of: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    scheme: &'static str,
    host: HostPattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Exact(Host<String>),
    Below(String),
}

impl HostRules {
    /// Reads rules, separated by commas.
    ///
    /// # Errors
    ///
    /// What is wrong and the right form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let rules = parts.map(Rule::parse).collect::<Result<_, _>>()?;
        Ok(Self { rules, public: false, of: "HOLDFAST_HTTP_HOSTS" })
    }

    /// Reads where sources may be: rules, and `public`. Without any text it is `public`.
    ///
    /// # Errors
    ///
    /// As [`HostRules::parse`].
    pub fn parse_for_sources(text: &str) -> Result<Self, String> {
        let (public, rules): (Vec<&str>, Vec<&str>) = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .partition(|part| *part == "public");
        let public = !public.is_empty() || rules.is_empty();
        let rules = Self::parse(&rules.join(","))?.rules;
        Ok(Self { rules, public, of: "HOLDFAST_SOURCE_HOSTS" })
    }

    /// Whether a request may go to `url`; the reason when it may not, which reads after the host.
    ///
    /// # Errors
    ///
    /// The reason, for the message.
    pub fn admit(&self, url: &Url) -> Result<(), String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{} is not http or https", url.scheme()));
        }
        let Some(host) = url.host() else { return Err("it has no host".to_owned()) };
        let named = self.rules.iter().any(|rule| rule.admits(url, &host));
        let exactly = self.rules.iter().any(|rule| rule.names(url, &host));
        if !exactly && let Some(what) = forbidden(&host) {
            return Err(format!("{what} are not reached from here"));
        }
        if named || self.public && url.scheme() == "https" {
            return Ok(());
        }
        Err(format!("no rule of {} allows it", self.of))
    }

    /// Whether a rule is about `url`, be it an address that is reached or not.
    #[must_use]
    pub fn cover(&self, url: &Url) -> bool {
        url.host().is_some_and(|host| self.rules.iter().any(|rule| rule.admits(url, &host)))
    }

    /// Whether there is any rule at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && !self.public
    }
}

impl Rule {
    fn parse(text: &str) -> Result<Self, String> {
        let form = "write api.example.com, *.example.com, or https://api.example.com:8443";
        let (scheme, rest) = match text.split_once("://") {
            Some(("https", rest)) => ("https", rest),
            Some(("http", rest)) => ("http", rest),
            Some((scheme, _)) => return Err(format!("{scheme} is not http or https; {form}")),
            None => ("https", text),
        };
        let (below, host) = match rest.strip_prefix("*.") {
            Some(domain) => (true, domain),
            None => (false, rest),
        };
        if host == "*" || host.contains('*') {
            return Err(format!(
                "{text:?} would open every host there is, private ones behind names included; {form}"
            ));
        }
        let url = Url::parse(&format!("{scheme}://{host}"))
            .map_err(|error| format!("{text:?} is not a host ({error}); {form}"))?;
        if url.path() != "/" || url.query().is_some() || !url.username().is_empty() {
            return Err(format!("{text:?} has more than a host and a port; {form}"));
        }
        let host = match (url.host().map(|host| host.to_owned()), below) {
            (Some(Host::Domain(domain)), true) if domain.contains('.') => {
                HostPattern::Below(domain)
            }
            (Some(_), true) => return Err(format!("{text:?} is too wide; {form}")),
            (Some(host), false) => HostPattern::Exact(host),
            (None, _) => return Err(format!("{text:?} has no host; {form}")),
        };
        Ok(Self { scheme, host, port: url.port_or_known_default() })
    }

    fn admits(&self, url: &Url, host: &Host<&str>) -> bool {
        self.fits_door(url)
            && match (&self.host, host) {
                (HostPattern::Exact(exact), host) => same(exact, host),
                (HostPattern::Below(domain), Host::Domain(name)) => bare(name)
                    .strip_suffix(domain.as_str())
                    .is_some_and(|head| head.len() > 1 && head.ends_with('.')),
                (HostPattern::Below(_), _) => false,
            }
    }

    /// Whether the rule names this very host, not a family of them.
    fn names(&self, url: &Url, host: &Host<&str>) -> bool {
        self.fits_door(url) && matches!(&self.host, HostPattern::Exact(exact) if same(exact, host))
    }

    fn fits_door(&self, url: &Url) -> bool {
        self.scheme == url.scheme() && self.port == url.port_or_known_default()
    }
}

fn same(exact: &Host<String>, host: &Host<&str>) -> bool {
    match (exact, host) {
        (Host::Domain(a), Host::Domain(b)) => bare(a) == bare(b),
        (Host::Ipv4(a), Host::Ipv4(b)) => a == b,
        (Host::Ipv6(a), Host::Ipv6(b)) => a == b,
        _ => false,
    }
}

/// A name without its trailing dot, which means the same host.
fn bare(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// Names that always mean this machine, its network or the cloud's own services.
const FORBIDDEN_NAMES: &[&str] = &[
    "localhost",
    "local",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "home.arpa",
    "metadata.google.internal",
    "localdomain",
];

fn forbidden(host: &Host<&str>) -> Option<&'static str> {
    match host {
        Host::Domain(name) => {
            let name = bare(name);
            let below = |family: &&&str| {
                name == **family
                    || name.strip_suffix(**family).is_some_and(|head| head.ends_with('.'))
            };
            if FORBIDDEN_NAMES.iter().any(|family| below(&family)) || !name.contains('.') {
                return Some("names of private networks");
            }
            None
        }
        Host::Ipv4(address) => forbidden_v4(*address),
        Host::Ipv6(address) => forbidden_v6(*address),
    }
}

fn forbidden_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let benchmark = a == 198 && (b == 18 || b == 19);
    let protocol = a == 192 && b == 0 && c == 0;
    if address.is_loopback() {
        Some("loopback addresses")
    } else if address.is_link_local() {
        Some("link-local and metadata addresses")
    } else if address.is_private()
        || shared
        || benchmark
        || protocol
        || a == 0
        || a >= 224
        || address.is_documentation()
    {
        Some("private and reserved addresses")
    } else {
        None
    }
}

fn forbidden_v6(address: Ipv6Addr) -> Option<&'static str> {
    let [first, second, ..] = address.segments();
    if address.is_loopback() || address.is_unspecified() {
        return Some("loopback addresses");
    }
    // An IPv4 address in an IPv6 coat: mapped, compatible, translated (64:ff9b::/96), 6to4.
    let [.., g, h] = address.segments();
    let low = Ipv4Addr::from((u32::from(g) << 16) | u32::from(h));
    let head = address.segments().iter().take(5).all(|part| *part == 0);
    if head || (first == 0x64 && second == 0xff9b) {
        return forbidden_v4(low).or(Some("private and reserved addresses"));
    }
    if first == 0x2002 {
        let [_, b, c, ..] = address.segments();
        return forbidden_v4(Ipv4Addr::from((u32::from(b) << 16) | u32::from(c)));
    }
    let unique_local = first & 0xfe00 == 0xfc00;
    let link_local = first & 0xffc0 == 0xfe80;
    let site_local = first & 0xffc0 == 0xfec0;
    let multicast = first & 0xff00 == 0xff00;
    let documentation = first == 0x2001 && second == 0xdb8;
    // Teredo and the rest of 2001::/23, addresses that are thrown away, translation of a site's own.
    let special = first == 0x2001 && second < 0x200 || first == 0x100;
    if link_local {
        Some("link-local and metadata addresses")
    } else if unique_local || site_local || multicast || documentation || special {
        Some("private and reserved addresses")
    } else {
        None
    }
}

/// Whether an address, as a rule or a test names it, is one that only an exact rule opens.
#[must_use]
pub fn is_forbidden_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => forbidden_v4(address).is_some(),
        IpAddr::V6(address) => forbidden_v6(address).is_some(),
    }
}

#[cfg(test)]
mod tests {
    //! Works when allowed, fails when absent, fails when not allowed.

    use super::*;

    fn admit(rules: &str, url: &str) -> Result<(), String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        HostRules::parse(rules).unwrap().admit(&url)
    }

    #[test]
    fn a_named_host_is_reached_and_no_other() {
        let rules = "api.example.com, *.example.org, http://plain.example.net:8080";
        for url in [
            "https://api.example.com/a",
            "https://api.example.com./a",
            "https://API.example.com/",
            "https://a.example.org/",
            "https://a.b.example.org/",
            "http://plain.example.net:8080/x",
        ] {
            assert_eq!(admit(rules, url), Ok(()), "{url}");
        }
        for url in [
            "http://api.example.com/",
            "https://api.example.com:8443/",
            "https://evil-api.example.com.example.net/",
            "https://example.org/",
            "https://notexample.org/",
            "https://plain.example.net:8080/",
            "ftp://api.example.com/",
        ] {
            assert!(admit(rules, url).is_err(), "{url}");
        }
        assert!(admit("", "https://api.example.com/").is_err());
    }

    #[test]
    fn private_addresses_are_refused_in_every_spelling() {
        for url in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://0177.0.0.1/",
            "https://10.0.0.1/",
            "https://172.16.0.1/",
            "https://192.168.1.1/",
            "https://169.254.169.254/latest/meta-data/",
            "https://100.64.0.1/",
            "https://0.0.0.0/",
            "https://255.255.255.255/",
            "https://[::1]/",
            "https://[::]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:a9fe:a9fe]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[2002:7f00:1::]/",
            "https://[fe80::1]/",
            "https://[fc00::1]/",
            "https://[fd12:3456::1]/",
            "https://localhost/",
            "https://localhost./",
            "https://db.internal/",
            "https://printer.local/",
            "https://router/",
            "https://a.localhost/",
            "https://metadata.google.internal/",
        ] {
            let refused = admit("*.example.org", url).unwrap_err();
            assert!(!refused.contains("HOLDFAST_HTTP_HOSTS"), "{url}: {refused}");
        }
    }

    #[test]
    fn a_source_may_be_at_any_public_host_and_at_no_private_one() {
        let admit = |rules: &str, url: &str| {
            HostRules::parse_for_sources(rules).unwrap().admit(&Url::parse(url).unwrap())
        };
        assert_eq!(admit("", "https://api.example.com/"), Ok(()));
        let local = "public, http://127.0.0.1:9000";
        assert_eq!(admit(local, "https://api.example.com/"), Ok(()));
        assert_eq!(admit(local, "http://127.0.0.1:9000/mcp"), Ok(()));
        for (rules, url) in [
            ("", "http://api.example.com/"),
            ("", "https://127.0.0.1/"),
            ("", "https://[2001:0:1::1]/"),
            ("api.example.com", "https://elsewhere.example.com/"),
            (local, "http://127.0.0.1:9001/"),
        ] {
            assert!(admit(rules, url).is_err(), "{rules} {url}");
        }
        let refused = admit("api.example.com", "https://b.example.com/").unwrap_err();
        assert!(refused.contains("HOLDFAST_SOURCE_HOSTS"), "{refused}");
    }

    #[test]
    fn an_exact_rule_opens_one_private_address() {
        assert_eq!(admit("http://127.0.0.1:9000", "http://127.0.0.1:9000/x"), Ok(()));
        assert!(admit("http://127.0.0.1:9000", "http://127.0.0.1:9001/x").is_err());
        assert!(admit("http://127.0.0.1:9000", "http://127.0.0.2:9000/x").is_err());
    }

    #[test]
    fn a_rule_that_opens_too_much_is_refused_with_the_right_form() {
        for text in
            ["*", "https://*", "*.com", "a.*.com", "ftp://a.b", "https://a.b/path", "http://"]
        {
            let error = HostRules::parse(text).unwrap_err();
            assert!(error.contains("api.example.com"), "{text}: {error}");
        }
    }
}
