//! Server-sent events, read piece by piece. Pure.

/// Puts events together out of pieces of a stream.
#[derive(Debug)]
pub struct Events {
    /// Bytes of the line that has begun.
    line: Vec<u8>,
    /// The last byte was a carriage return: a line feed behind it belongs to it.
    after_return: bool,
    begun: bool,
    data: Option<String>,
    last_id: Option<String>,
    retry_ms: Option<u64>,
    limit: usize,
}

/// An event is larger than it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Large;

impl Events {
    /// A reader of events of at most `limit` bytes each.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            after_return: false,
            begun: false,
            data: None,
            last_id: None,
            retry_ms: None,
            limit,
        }
    }

    /// The id of the newest event that had one: where a stream can be taken up again.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants a client to wait before it takes the stream up again.
    #[must_use]
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Takes a piece; the data of the events that it completed, those without any left out.
    ///
    /// # Errors
    ///
    /// [`Large`].
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<String>, Large> {
        let mut found = Vec::new();
        for byte in piece {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    found.extend(self.end_line(&line));
                }
                _ => {
                    self.after_return = false;
                    self.line.push(*byte);
                }
            }
            let held = self.data.as_ref().map_or(0, String::len);
            if self.line.len().saturating_add(held) > self.limit {
                return Err(Large);
            }
        }
        Ok(found)
    }

    fn end_line(&mut self, line: &[u8]) -> Option<String> {
        let line = String::from_utf8_lossy(line);
        let mut line = line.as_ref();
        if !self.begun {
            self.begun = true;
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            return self.data.take().filter(|data| !data.is_empty());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') && !value.is_empty() => {
                self.last_id = Some(value.to_owned());
            }
            "retry" => self.retry_ms = value.parse().ok().or(self.retry_ms),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    //! Whatever the pieces, the events are the same.

    use super::*;

    const STREAM: &str = "\u{feff}: a comment\r\nid: 7\nretry: 20\n\ndata:\n\nevent: message\rdata: one\r\r\
                          data: two\r\ndata:  lines\r\n\r\ndata\n\nid: 8\ndata: drei €\n\ndata: lost";

    #[test]
    fn events_are_put_together_whatever_the_pieces() {
        for size in [1, 2, 3, 5, 1_000] {
            let mut events = Events::new(100);
            let mut found = Vec::new();
            for piece in STREAM.as_bytes().chunks(size) {
                found.extend(events.push(piece).unwrap());
            }
            assert_eq!(found, ["one", "two\n lines", "drei €"], "{size}");
            assert_eq!(events.last_id(), Some("8"));
            assert_eq!(events.retry_ms(), Some(20));
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut events = Events::new(12);
        assert_eq!(events.push(b"data: 12345\n"), Ok(vec![]));
        assert_eq!(events.push(b"data: 678"), Err(Large));
    }
}
