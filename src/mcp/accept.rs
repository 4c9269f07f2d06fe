//! `Accept`: which of the two answer types a client takes.

/// The types a client takes. The specification wants clients to take both; many send one of
/// them, a wildcard or nothing, and all of those are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accept {
    /// JSON at once, a stream for a call that stays open.
    Both,
    /// JSON; a call that stays open beats with white space in front of it.
    Json,
    /// A stream, for quick answers as well.
    Sse,
}

impl Accept {
    /// Reads the header; `None` when the client takes neither type.
    pub(super) fn read(header: Option<&str>) -> Option<Self> {
        let Some(list) = header.filter(|list| !list.is_empty()) else {
            return Some(Self::Both);
        };
        match (takes(list, "application", "json"), takes(list, "text", "event-stream")) {
            (true, true) => Some(Self::Both),
            (true, false) => Some(Self::Json),
            (false, true) => Some(Self::Sse),
            (false, false) => None,
        }
    }
}

/// Whether `list` allows the type: the most exact range that matches it decides.
fn takes(list: &str, kind: &str, subtype: &str) -> bool {
    let (mut exactness, mut taken) = (0, false);
    for range in list.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let matched = match name.split_once('/') {
            Some((a, b)) if a == kind && b == subtype => 3,
            Some((a, "*")) if a == kind => 2,
            Some(("*", "*")) => 1,
            // Old Java clients send a bare star.
            None if name == "*" => 1,
            _ => 0,
        };
        if matched > exactness {
            exactness = matched;
            taken = !parts.any(is_zero_quality);
        }
    }
    taken
}

/// Whether a parameter is `q=0`, with up to three zeros behind the point.
fn is_zero_quality(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    name.trim().eq_ignore_ascii_case("q")
        && value.trim().parse::<f32>().is_ok_and(|quality| quality <= 0.0)
}

#[cfg(test)]
mod tests {
    use super::Accept;

    #[test]
    fn any_fitting_header_is_served_in_a_type_it_names() {
        let cases = [
            (None, Some(Accept::Both)),
            (Some(""), Some(Accept::Both)),
            (Some("*/*"), Some(Accept::Both)),
            (Some("*"), Some(Accept::Both)),
            (Some("application/json, text/event-stream"), Some(Accept::Both)),
            (Some("Application/JSON;charset=utf-8"), Some(Accept::Json)),
            (Some("application/*"), Some(Accept::Json)),
            (Some("text/event-stream"), Some(Accept::Sse)),
            (Some("text/*;q=0.1"), Some(Accept::Sse)),
            (Some("*/*, text/event-stream;q=0"), Some(Accept::Json)),
            (Some("text/event-stream;q=0, */*"), Some(Accept::Json)),
            (Some("application/json; Q=0.000, */*;q=0.5"), Some(Accept::Sse)),
            (Some("text/html"), None),
            (Some("application/json;q=0"), None),
            (Some("*/*;q=0"), None),
            (Some(",;,/"), None),
            (Some("application/jsonp"), None),
        ];
        for (header, expected) in cases {
            assert_eq!(Accept::read(header), expected, "{header:?}");
        }
    }
}
