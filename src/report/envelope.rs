//! Envelopes split on bytes: what an envelope holds, and which of its bytes go on.
//!
//! ```text
//! Envelope = Headers { "\n" Item } [ "\n" ]          Item = Headers "\n" Payload
//! ```
//!
//! The [`Splitter`] is fed an envelope piece by piece, in any pieces, and keeps of it only the
//! line it is reading (at most 64 KiB), the one event (at most 1 MiB), and where items that may
//! have to go begin and end. It never sees the envelope whole and never decodes a payload but
//! the event's. What goes on is said as ranges of the bytes that came in, so it is always a
//! subsequence of them: nothing is added, nothing rewritten.
//!
//! The envelope is judged when it has exactly one event and nothing else that makes one;
//! otherwise nobody can tell which items belong to which event, and it goes on whole. With an
//! event that is noise go the items that belong to it: attachments, user reports, its profile,
//! its form data. What is independent of events stays, and so does every type not known here.
//!
//! Whose envelope it is, and what becomes of it, is the tunnel's matter.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::filter::{self, EventId};
use super::json::{object, present, string};
use super::losses::{Category, Losses, Reason};

/// Bytes of one header line. The official forwarder has the same limit; real lines are under 2 KiB.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// Bytes of an event that is still judged: what the server accepts at most. It refuses a larger
/// one by itself.
pub const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// Stretches of an envelope that may have to be cut out, each 16 bytes here. Neighbours are one
/// stretch; real envelopes have one or two. One with more goes on whole.
const MAX_CUTS: usize = 4096;

/// Why an envelope is refused. It never quotes the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// The item, counted from 1; `None` is the envelope's own header line.
    item: Option<usize>,
    what: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.item {
            Some(item) => write!(f, "item {item}: {}", self.what),
            None => write!(f, "envelope header: {}", self.what),
        }
    }
}

/// What the envelope's header line says about where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The id of the event, where the header names one.
    pub event_id: NamedId,
    /// The project, where the header names one.
    pub dsn: NamedDsn,
}

/// An envelope header's `event_id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedId {
    /// There is none: the event's own counts.
    Absent,
    /// A UUID.
    Id(EventId),
    /// Something else.
    NotAnId,
}

/// An envelope header's `dsn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedDsn {
    /// There is none, which is usual for servers' SDKs, replays and client reports.
    Absent,
    /// A string, which may or may not be a DSN.
    Text(String),
    /// Something else, `null` included.
    NotText,
}

/// An envelope that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Its header line.
    pub header: Header,
    /// What becomes of its items, or which of them is malformed.
    pub items: Result<Items, Malformed>,
}

/// What becomes of an envelope's items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Items {
    /// There are none.
    None,
    /// All go on.
    Whole,
    /// The event is noise.
    Noise {
        /// The bytes that go on, in order; empty if no item is left.
        kept: Vec<Range<usize>>,
        /// What was dropped.
        losses: Losses,
        /// The id that the client is answered with.
        event_id: Option<EventId>,
    },
}

/// Reads one envelope, piece by piece.
#[derive(Debug)]
pub struct Splitter {
    state: State,
    /// Bytes read.
    offset: usize,
    /// The header line that is being read.
    line: Vec<u8>,
    header: Option<Header>,
    malformed: Option<Malformed>,
    items: usize,
    kept_items: usize,
    item: Option<Item>,
    event: EventItem,
    /// The envelope goes on whole, whatever its event says.
    whole: bool,
    cuts: Vec<Range<usize>>,
    losses: Losses,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the envelope's header line.
    Header,
    /// Where an item may begin, or the envelope end.
    ItemStart,
    /// In an item's header line.
    ItemHeader,
    /// In a payload of known length.
    Framed { left: usize },
    /// Behind a payload of known length.
    FramedEnd,
    /// In a payload that ends with its line.
    Line,
}

/// What an item is to the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The event itself.
    Event,
    /// Belongs to the event and is counted as so many of a category; `None` is not counted.
    Dependant(Option<Category>),
    /// Makes an event of its own.
    Rival,
    /// Neither, or not known.
    Independent,
}

/// The item that is being read.
#[derive(Debug, Clone, Copy)]
struct Item {
    role: Role,
    /// Where its header line begins.
    start: usize,
    payload_bytes: usize,
}

#[derive(Debug)]
enum EventItem {
    None,
    Read(Vec<u8>),
    TooLarge,
}

impl Default for Splitter {
    fn default() -> Self {
        Self::new()
    }
}

impl Splitter {
    /// A splitter that has read nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: State::Header,
            offset: 0,
            line: Vec::new(),
            header: None,
            malformed: None,
            items: 0,
            kept_items: 0,
            item: None,
            event: EventItem::None,
            whole: false,
            cuts: Vec::new(),
            losses: Losses::none(),
        }
    }

    /// Whether the envelope is already known to be malformed: nothing of it will go on.
    #[must_use]
    pub const fn is_malformed(&self) -> bool {
        self.malformed.is_some()
    }

    /// Reads on.
    pub fn feed(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !rest.is_empty() && self.malformed.is_none() {
            let unread = match self.step(rest) {
                Ok(unread) => unread,
                Err(what) => return self.refuse(what),
            };
            self.offset = self.offset.saturating_add(rest.len().saturating_sub(unread.len()));
            rest = unread;
            if self.state == State::ItemStart {
                self.end_item();
            }
        }
    }

    /// Ends the envelope.
    ///
    /// # Errors
    ///
    /// When the envelope's header line is malformed. A malformed item is told beside the header:
    /// who sent the envelope is asked first.
    pub fn finish(mut self) -> Result<Envelope, Malformed> {
        if self.malformed.is_none() {
            match self.end() {
                Ok(()) => {}
                Err(what) => self.refuse(what),
            }
        }
        let malformed = self.malformed;
        match (self.header.take(), malformed) {
            (Some(header), Some(malformed)) => Ok(Envelope { header, items: Err(malformed) }),
            (Some(header), None) => {
                let items = Ok(self.decide(&header));
                Ok(Envelope { header, items })
            }
            (None, Some(malformed)) => Err(malformed),
            (None, None) => Err(Malformed { item: None, what: "missing" }),
        }
    }

    fn refuse(&mut self, what: &'static str) {
        self.malformed =
            Some(Malformed { item: self.header.is_some().then_some(self.items), what });
        self.line = Vec::new();
        self.event = EventItem::None;
        self.cuts = Vec::new();
    }

    /// Takes one step into `piece` and returns what is left of it.
    fn step<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], &'static str> {
        match self.state {
            State::Header => {
                let rest = self.read_line(piece)?;
                if rest.is_some() {
                    self.end_header()?;
                    self.state = State::ItemStart;
                }
                Ok(rest.unwrap_or_default())
            }
            State::ItemStart => {
                self.items = self.items.saturating_add(1);
                if piece.first() == Some(&b'\n') {
                    return Err("a blank line stands where an item header should");
                }
                let start = self.offset;
                self.item = Some(Item { role: Role::Independent, start, payload_bytes: 0 });
                self.state = State::ItemHeader;
                Ok(piece)
            }
            State::ItemHeader => {
                let rest = self.read_line(piece)?;
                if rest.is_some() {
                    self.state = match self.end_item_header()? {
                        None => State::Line,
                        Some(0) => State::FramedEnd,
                        Some(left) => State::Framed { left },
                    };
                }
                Ok(rest.unwrap_or_default())
            }
            State::Framed { left } => {
                let (payload, rest) = piece.split_at_checked(left).unwrap_or((piece, &[]));
                self.read_payload(payload);
                let left = left.saturating_sub(payload.len());
                self.state = if left == 0 { State::FramedEnd } else { State::Framed { left } };
                Ok(rest)
            }
            State::FramedEnd => match piece.split_first() {
                Some((b'\n', rest)) => {
                    self.state = State::ItemStart;
                    Ok(rest)
                }
                _ => Err("no newline follows the payload's length"),
            },
            State::Line => {
                let (payload, rest) = split_line(piece);
                self.read_payload(payload);
                if rest.is_some() {
                    self.state = State::ItemStart;
                }
                Ok(rest.unwrap_or_default())
            }
        }
    }

    fn end(&mut self) -> Result<(), &'static str> {
        match self.state {
            State::Header if self.line.is_empty() => Err("the body is empty"),
            State::Header => self.end_header(),
            State::ItemStart => Ok(()),
            State::ItemHeader => match self.end_item_header()? {
                None | Some(0) => {
                    self.end_item();
                    Ok(())
                }
                Some(_) => Err("length runs past the end"),
            },
            State::Framed { .. } => Err("length runs past the end"),
            State::FramedEnd | State::Line => {
                self.end_item();
                Ok(())
            }
        }
    }

    /// Adds to the header line. `Some` is what stands behind the line's end.
    fn read_line<'a>(&mut self, piece: &'a [u8]) -> Result<Option<&'a [u8]>, &'static str> {
        let (line, rest) = split_line(piece);
        if self.line.len().saturating_add(line.len()) > MAX_LINE_BYTES {
            return Err("a header line is longer than 64 KiB");
        }
        self.line.extend_from_slice(line);
        Ok(rest)
    }

    fn end_header(&mut self) -> Result<(), &'static str> {
        let line = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&line).map_err(|_| "not UTF-8")?;
        let header: HeaderLine<'_> = object(line).map_err(|_| "not a JSON object")?;
        self.header = Some(Header {
            event_id: match header.event_id.map(|json| string(json).as_deref().map(EventId::parse))
            {
                None => NamedId::Absent,
                Some(Some(Some(id))) => NamedId::Id(id),
                Some(_) => NamedId::NotAnId,
            },
            dsn: match header.dsn.map(string) {
                None => NamedDsn::Absent,
                Some(Some(dsn)) => NamedDsn::Text(dsn.into_owned()),
                Some(None) => NamedDsn::NotText,
            },
        });
        Ok(())
    }

    /// Reads the item's header line and returns the payload's length, where it is said.
    fn end_item_header(&mut self) -> Result<Option<usize>, &'static str> {
        let mut line = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(&line).map_err(|_| "the header is not UTF-8")?;
        let header: ItemHeaderLine<'_> =
            object(text).map_err(|_| "the header is not a JSON object, or names a key twice")?;
        let kind = header.kind.and_then(string).ok_or("type is missing or not a string")?;
        let length = header.length.map(|json| length(json.get())).transpose()?;
        let role = Role::of(&kind, &header);
        if let Some(item) = &mut self.item {
            item.role = role;
        }
        match role {
            Role::Event if matches!(self.event, EventItem::None) => {
                self.event = EventItem::Read(Vec::new());
            }
            // Against the protocol: a second event, or something else that makes one.
            Role::Event | Role::Rival => self.whole = true,
            Role::Dependant(_) | Role::Independent => {}
        }
        // The buffer serves the next line as well.
        line.clear();
        self.line = line;
        Ok(length)
    }

    fn read_payload(&mut self, payload: &[u8]) {
        let Some(item) = &mut self.item else { return };
        item.payload_bytes = item.payload_bytes.saturating_add(payload.len());
        if item.role == Role::Event
            && !self.whole
            && let EventItem::Read(event) = &mut self.event
        {
            if event.len().saturating_add(payload.len()) > MAX_EVENT_BYTES {
                self.event = EventItem::TooLarge;
            } else {
                event.extend_from_slice(payload);
            }
        }
    }

    /// Notes what would go if the event were noise.
    fn end_item(&mut self) {
        let Some(item) = self.item.take() else { return };
        let lost = match item.role {
            Role::Event => Some((Category::Error, 1)),
            Role::Dependant(Some(Category::Attachment)) => {
                let bytes = u64::try_from(item.payload_bytes).unwrap_or(u64::MAX);
                Some((Category::Attachment, bytes.max(1)))
            }
            Role::Dependant(category) => category.map(|category| (category, 1)),
            Role::Rival | Role::Independent => {
                self.kept_items = self.kept_items.saturating_add(1);
                return;
            }
        };
        if let Some((category, quantity)) = lost {
            self.losses.add(Reason::EventProcessor, category, quantity);
        }
        let adjoins = self.cuts.last_mut().filter(|cut| cut.end == item.start);
        if let Some(cut) = adjoins {
            cut.end = self.offset;
        } else if self.cuts.len() < MAX_CUTS {
            self.cuts.push(item.start..self.offset);
        } else {
            self.whole = true;
        }
    }

    fn decide(self, header: &Header) -> Items {
        if self.items == 0 {
            return Items::None;
        }
        match self.event {
            EventItem::Read(event) if !self.whole && filter::is_noise(&event) => Items::Noise {
                kept: if self.kept_items == 0 {
                    Vec::new()
                } else {
                    without(&self.cuts, self.offset)
                },
                losses: self.losses,
                event_id: match &header.event_id {
                    NamedId::Absent => filter::event_id(&event),
                    NamedId::Id(id) => Some(id.clone()),
                    NamedId::NotAnId => None,
                },
            },
            _ => Items::Whole,
        }
    }
}

/// What is left of `0..end` without `cuts`, which are in order and do not touch.
fn without(cuts: &[Range<usize>], end: usize) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(cuts.iter().map(|cut| cut.end));
    let ends = cuts.iter().map(|cut| cut.start).chain(std::iter::once(end));
    starts.zip(ends).filter(|(start, end)| start < end).map(|(start, end)| start..end).collect()
}

/// The line at the head of `piece`, and what stands behind its newline if it ends here.
fn split_line(piece: &[u8]) -> (&[u8], Option<&[u8]>) {
    let Some(newline) = piece.iter().position(|byte| *byte == b'\n') else {
        return (piece, None);
    };
    match piece.split_at_checked(newline) {
        Some((line, rest)) => (line, rest.get(1..)),
        None => (piece, None),
    }
}

/// The parts of an envelope's header line that are read.
#[derive(Deserialize)]
struct HeaderLine<'a> {
    #[serde(borrow)]
    event_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    dsn: Option<&'a RawValue>,
}

/// The parts of an item's header line that are read.
#[derive(Deserialize)]
struct ItemHeaderLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    length: Option<&'a RawValue>,
    #[serde(borrow)]
    content_type: Option<&'a RawValue>,
    #[serde(borrow)]
    attachment_type: Option<&'a RawValue>,
}

/// Reads a length: digits and nothing else, because two readers that disagree on a length
/// disagree on where items begin.
fn length(json: &str) -> Result<usize, &'static str> {
    if !json.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("length is not a whole number of bytes");
    }
    json.parse().map_err(|_| "length runs past the end")
}

impl Role {
    fn of(kind: &str, header: &ItemHeaderLine<'_>) -> Self {
        let text = |json: Option<&'_ RawValue>| {
            json.and_then(string).map(Cow::into_owned).unwrap_or_default()
        };
        match kind {
            "event" => Self::Event,
            "transaction" | "feedback" | "security" | "raw_security" | "unreal_report" => {
                Self::Rival
            }
            "attachment" if is_crash(&text(header.attachment_type)) => Self::Rival,
            "attachment"
                if text(header.content_type) == "application/vnd.sentry.trace-attachment" =>
            {
                Self::Independent
            }
            "attachment" => Self::Dependant(Some(Category::Attachment)),
            "user_report" => Self::Dependant(Some(Category::Feedback)),
            "profile" => Self::Dependant(Some(Category::Profile)),
            "form_data" => Self::Dependant(None),
            _ => Self::Independent,
        }
    }
}

/// Whether an attachment of this type makes an event of its own, or adds to one.
fn is_crash(attachment_type: &str) -> bool {
    matches!(
        attachment_type,
        "event.minidump"
            | "event.applecrashreport"
            | "event.payload"
            | "event.breadcrumbs"
            | "playstation.prosperodump"
            | "nswitch.dying_message"
    )
}
