//! A DSN: where events go, and whose they are.
//!
//! ```text
//! {scheme}://{public}[:secret]@{host}[:port][/path]/{project}
//! ```
//!
//! The authority ends at the first of `/ ? # \`, the user info at its last `@`, so that no
//! spelling makes two readers see two hosts. The secret is deprecated and never kept.

/// A DSN, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dsn {
    https: bool,
    key: String,
    /// Lower-case; an IPv6 address in its brackets.
    host: String,
    port: u16,
    /// Empty, or `/…` without a slash at its end.
    path: String,
    project: String,
}

impl Dsn {
    /// Reads a DSN.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as a phrase that does not quote it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = text.split_once("://").ok_or("it has no scheme")?;
        let https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err("its scheme is neither https nor http"),
        };
        let end = rest.find(['/', '?', '#', '\\']).ok_or("it has no project")?;
        let (authority, location) = rest.split_at_checked(end).ok_or("it has no project")?;
        let (user, address) = authority.rsplit_once('@').ok_or("it has no key")?;
        let key = user.split_once(':').map_or(user, |(key, _secret)| key);
        if key.is_empty() || !key.bytes().all(is_key_byte) {
            return Err("it has no key");
        }
        let (host, port) = split_port(address)?;
        let (path, project) = location.rsplit_once('/').ok_or("it has no project")?;
        let is_plain =
            |part: &str| part.bytes().all(|byte| is_key_byte(byte) || b"./~%+".contains(&byte));
        if project.is_empty() || !is_plain(project) || !is_plain(path) {
            return Err("it has no project");
        }
        Ok(Self {
            https,
            key: key.to_owned(),
            host: host.to_ascii_lowercase(),
            port: match port {
                Some(port) => port.parse().map_err(|_| "its port is not a port")?,
                None if https => 443,
                None => 80,
            },
            path: path.to_owned(),
            project: project.to_owned(),
        })
    }

    /// The public key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The project.
    #[must_use]
    pub fn project(&self) -> &str {
        &self.project
    }

    /// The path between host and project: empty, or `/…` without a slash at its end.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where envelopes are posted to.
    #[must_use]
    pub fn endpoint(&self) -> String {
        let Self { host, port, path, project, .. } = self;
        let (scheme, default_port) = if self.https { ("https", 443) } else { ("http", 80) };
        let port = if *port == default_port { String::new() } else { format!(":{port}") };
        format!("{scheme}://{host}{port}{path}/api/{project}/envelope/")
    }

    /// Whether `other` names the same project with the same key at the same host. Scheme and
    /// secret do not matter.
    #[must_use]
    pub fn is_same_project(&self, other: &Self) -> bool {
        let place = |dsn: &Self| (dsn.key.clone(), dsn.host.clone(), dsn.port, dsn.path.clone());
        place(self) == place(other) && self.project == other.project
    }
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn split_port(address: &str) -> Result<(&str, Option<&str>), &'static str> {
    const NO_HOST: &str = "it has no host";
    let colon = match address.strip_prefix('[') {
        Some(bracketed) => {
            let (v6, after) = bracketed.split_once(']').ok_or(NO_HOST)?;
            if v6.is_empty() || !v6.bytes().all(|b| b.is_ascii_hexdigit() || b":.".contains(&b)) {
                return Err(NO_HOST);
            }
            address.len().checked_sub(after.len())
        }
        None => address.find(':').or(Some(address.len())),
    };
    let (host, port) = colon.and_then(|at| address.split_at_checked(at)).ok_or(NO_HOST)?;
    let is_name = |byte: u8| is_key_byte(byte) || byte == b'.';
    if host.is_empty() || !(host.starts_with('[') || host.bytes().all(is_name)) {
        return Err(NO_HOST);
    }
    match port.strip_prefix(':') {
        None if port.is_empty() => Ok((host, None)),
        Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            Ok((host, Some(digits)))
        }
        _ => Err("its port is not a port"),
    }
}

#[cfg(test)]
mod tests {
    //! One host in every spelling, and no spelling of two hosts.

    use super::*;

    #[test]
    fn the_endpoint_is_made_of_the_dsn() {
        let cases = [
            ("http://public@127.0.0.1:9100/1", "http://127.0.0.1:9100/api/1/envelope/"),
            ("https://k@o1.ingest.example/42", "https://o1.ingest.example/api/42/envelope/"),
            ("https://k:secret@H.Example:443/a/b/42", "https://h.example/a/b/api/42/envelope/"),
            ("HTTP://k:@h:80/1", "http://h/api/1/envelope/"),
            ("http://k@[::1]:9000/1", "http://[::1]:9000/api/1/envelope/"),
            ("http://k@[::1]/1", "http://[::1]/api/1/envelope/"),
        ];
        for (text, endpoint) in cases {
            assert_eq!(Dsn::parse(text).unwrap().endpoint(), endpoint, "{text}");
        }
    }

    #[test]
    fn ours_in_other_spellings_is_ours() {
        let ours = Dsn::parse("http://public@127.0.0.1:80/1").unwrap();
        let same = [
            "http://public@127.0.0.1/1",
            "http://public:x@127.0.0.1/1",
            "https://public@127.0.0.1:80/1",
        ];
        for text in same {
            assert!(ours.is_same_project(&Dsn::parse(text).unwrap()), "{text}");
        }
        let others = [
            "http://Public@127.0.0.1/1",
            "http://public@127.0.0.2/1",
            "http://public@127.0.0.1:81/1",
            "https://public@127.0.0.1/1",
            "http://public@127.0.0.1/2",
            "http://public@127.0.0.1/a/1",
            "http://public@127.0.0.1/01",
        ];
        for text in others {
            assert!(!ours.is_same_project(&Dsn::parse(text).unwrap()), "{text}");
        }
    }

    #[test]
    fn what_is_no_dsn_is_refused() {
        let cases = [
            ("", "it has no scheme"),
            ("public@127.0.0.1/1", "it has no scheme"),
            ("ftp://public@127.0.0.1/1", "its scheme is neither https nor http"),
            ("http://127.0.0.1:9100/1", "it has no key"),
            ("http://@127.0.0.1:9100/1", "it has no key"),
            ("http://:secret@127.0.0.1:9100/1", "it has no key"),
            ("http://a b@127.0.0.1/1", "it has no key"),
            ("http://public@127.0.0.1:9100@attacker.example/1", "it has no key"),
            ("http://public@127.0.0.1", "it has no project"),
            ("http://public@127.0.0.1/", "it has no project"),
            ("http://public@127.0.0.1/1/", "it has no project"),
            ("http://public@127.0.0.1?/1", "it has no project"),
            ("http://public@127.0.0.1\\@attacker.example/1", "it has no project"),
            ("http://public@127.0.0.1/1?x=1", "it has no project"),
            ("http://public@127.0.0.1/a b/1", "it has no project"),
            ("http://public@/1", "it has no host"),
            ("http://public@a b/1", "it has no host"),
            ("http://public@[::1/1", "it has no host"),
            ("http://public@[]/1", "it has no host"),
            ("http://public@h:/1", "its port is not a port"),
            ("http://public@h:x/1", "its port is not a port"),
            ("http://public@h:99999/1", "its port is not a port"),
            ("http://public@[::1]x/1", "its port is not a port"),
        ];
        for (text, expected) in cases {
            assert_eq!(Dsn::parse(text).map(|_| ()), Err(expected), "{text}");
        }
    }
}
