//! Server-sent events: how a message looks on a stream.

/// A comment. Clients skip it; writing it is how a hang-up shows.
pub(super) const BEAT: &[u8] = b": \n\n";

/// Bytes of JSON in one event that every client reads: the Python SDK (2.3.0) gives up a stream
/// over an event of more than 1 MiB; 1 KiB is for the field names and to spare.
pub(super) const EVENT_BYTES: usize = 1_048_576 - 1_024;

/// One message. Streams cannot be resumed, so there is no event id.
pub(super) fn event(json: &str) -> Vec<u8> {
    let mut out = b"event: message\n".to_vec();
    // Our JSON has no line breaks; a reader would take one for the end of the field.
    for line in json.split(['\r', '\n']) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
    out
}

/// The headers of a stream. `no-transform` and the header for nginx keep intermediaries from
/// holding beats back.
pub(super) fn headers() -> Vec<(&'static str, String)> {
    vec![
        ("content-type", "text/event-stream".to_owned()),
        ("cache-control", "no-store, no-transform".to_owned()),
        ("x-accel-buffering", "no".to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::event;

    #[test]
    fn a_message_is_one_event_whatever_its_text() {
        assert_eq!(event(r#"{"a":1}"#), b"event: message\ndata: {\"a\":1}\n\n");
        assert_eq!(event("{\n}"), b"event: message\ndata: {\ndata: }\n\n");
    }
}
