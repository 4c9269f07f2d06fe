//! The end of a service's stretch in good order: the program is told, and has its grace.

use super::order::ServiceOrder;
use crate::error::message::span;
use futures_channel::oneshot;

/// Why a stretch is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Somebody asked the service to stop.
    Asked,
    /// The stretch has lasted as long as it may; the next one goes on.
    Over,
}

impl Why {
    const fn reply(self) -> &'static str {
        match self {
            Self::Asked => r#"{"stop":"asked"}"#,
            Self::Over => r#"{"stop":"over"}"#,
        }
    }
}

/// How long a stretch lasts, and how it ends.
#[derive(Debug)]
pub struct Shift {
    grace_ms: u64,
    over_at: u64,
    /// The harness waits to be told.
    listens: Option<oneshot::Sender<String>>,
    told: Option<(Why, u64)>,
}

impl Shift {
    /// Of a stretch that begins.
    #[must_use]
    pub const fn new(service: &ServiceOrder, now: u64) -> Self {
        let over_at = now.saturating_add(service.shift_ms);
        Self { grace_ms: service.grace_ms, over_at, listens: None, told: None }
    }

    /// The harness asks to be told.
    pub fn listens(&mut self, reply: oneshot::Sender<String>) {
        self.listens = Some(reply);
        self.say();
    }

    /// The program is to end; its grace counts from the first time.
    pub fn end(&mut self, why: Why, now: u64) {
        self.told.get_or_insert((why, now));
        self.say();
    }

    fn say(&mut self) {
        if let Some((why, _)) = self.told
            && let Some(listens) = self.listens.take()
        {
            // The sandbox may be gone; then nobody wants to know.
            let _ = listens.send(why.reply().to_owned());
        }
    }

    /// Time has passed; why the attempt is to be ended, once its grace is over.
    pub fn look(&mut self, now: u64) -> Option<String> {
        if now >= self.over_at {
            self.end(Why::Over, now);
        }
        let (why, since) = self.told?;
        if now.saturating_sub(since) < self.grace_ms {
            return None;
        }
        let grace = span(self.grace_ms);
        Some(match why {
            Why::Asked => format!("it was asked to stop and did not end within {grace}"),
            Why::Over => format!("its stretch was over and it did not end within {grace}"),
        })
    }
}

#[cfg(test)]
mod tests {
    //! Told once, then given its grace.

    use super::*;

    fn shift() -> Shift {
        let service = ServiceOrder {
            name: "kit/watch".to_owned(),
            stretch: 1,
            woken: "start".to_owned(),
            grace_ms: 1_000,
            shift_ms: 60_000,
        };
        Shift::new(&service, 0)
    }

    #[test]
    fn a_stretch_that_is_asked_has_its_grace() {
        let mut shift = shift();
        let (sender, mut heard) = oneshot::channel();
        shift.listens(sender);
        assert_eq!(shift.look(59_999), None);
        assert_eq!(heard.try_recv(), Ok(None));
        shift.end(Why::Asked, 59_999);
        assert_eq!(heard.try_recv(), Ok(Some(r#"{"stop":"asked"}"#.to_owned())));
        assert_eq!(shift.look(60_998), None);
        let why = shift.look(60_999).unwrap();
        assert!(why.contains("asked to stop") && why.contains("1s"), "{why}");
    }

    #[test]
    fn a_stretch_ends_by_itself_and_a_late_listener_is_told() {
        let mut shift = shift();
        assert_eq!(shift.look(60_000), None);
        let (sender, mut heard) = oneshot::channel();
        shift.listens(sender);
        assert_eq!(heard.try_recv(), Ok(Some(r#"{"stop":"over"}"#.to_owned())));
        assert!(shift.look(61_000).unwrap().contains("its stretch was over"));
    }
}
