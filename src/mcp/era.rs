//! The two wire eras, and how one request is found to be of one.

/// The revision of the modern era that is served.
pub const MODERN: &str = "2026-07-28";

/// The revisions of the legacy era that are served, oldest first.
pub const LEGACY: [&str; 3] = ["2025-03-26", "2025-06-18", NEWEST_LEGACY];

/// What `initialize` answers to a version that is not served.
pub const NEWEST_LEGACY: &str = "2025-11-25";

/// The wire era of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Opened by `initialize`: 2025-03-26, 2025-06-18, 2025-11-25. Served without a session.
    Legacy,
    /// Every request stands alone: 2026-07-28.
    Modern,
}

impl Era {
    /// Chooses the era: by the body first, with the header as the last resort.
    ///
    /// - `claims`: `params._meta` has the key of the protocol version, whatever its value.
    /// - `header`: `MCP-Protocol-Version`. Its mere presence says nothing, since clients of
    ///   2025-06-18 send it too, and on `initialize` it is not looked at.
    ///
    /// Versions are ISO dates, so their order is that of their letters.
    #[must_use]
    pub fn choose(claims: bool, method: &str, header: Option<&str>) -> Self {
        if claims {
            return Self::Modern;
        }
        if method == "initialize" {
            return Self::Legacy;
        }
        if header.is_some_and(|version| version >= MODERN) { Self::Modern } else { Self::Legacy }
    }
}

#[cfg(test)]
mod tests {
    use super::Era::{self, Legacy, Modern};

    #[test]
    fn the_body_decides_and_the_header_only_where_the_body_is_silent() {
        let cases = [
            ("a claim", true, "tools/list", None, Modern),
            ("a claim on initialize", true, "initialize", None, Modern),
            ("a claim under an old header", true, "tools/list", Some("2025-06-18"), Modern),
            ("initialize", false, "initialize", None, Legacy),
            ("initialize under any header", false, "initialize", Some("2026-07-28"), Legacy),
            ("a modern header", false, "tools/list", Some("2026-07-28"), Modern),
            ("a later header", false, "tools/list", Some("v999.0.0"), Modern),
            ("an old header", false, "tools/list", Some("2025-06-18"), Legacy),
            ("an ancient header", false, "tools/list", Some("1999-01-01"), Legacy),
            ("no header", false, "tools/list", None, Legacy),
        ];
        for (name, claims, method, header, expected) in cases {
            assert_eq!(Era::choose(claims, method, header), expected, "{name}");
        }
    }
}
