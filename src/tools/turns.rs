//! Turns: so many calls of one source at once, the others in line. Within one request only: nobody
//! waits for what another request has.

use futures_channel::oneshot;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Turns to take. Clones share them.
#[derive(Debug, Clone)]
pub struct Turns(Rc<RefCell<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    line: VecDeque<oneshot::Sender<Turn>>,
}

/// A turn; dropped, it goes to the next in line.
#[derive(Debug)]
pub struct Turn(Option<Turns>);

impl Turns {
    /// So many at once, and one at least.
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        Self(Rc::new(RefCell::new(State { free: at_once.max(1), line: VecDeque::new() })))
    }

    /// Waits for a turn. Who leaves the line gives up the place.
    pub async fn take(&self) -> Turn {
        let waiting = {
            let mut state = self.0.borrow_mut();
            if let Some(left) = state.free.checked_sub(1) {
                state.free = left;
                return Turn(Some(self.clone()));
            }
            let (sender, receiver) = oneshot::channel();
            state.line.push_back(sender);
            receiver
        };
        // A sender is dropped only with the turns themselves, which this future holds.
        waiting.await.unwrap_or(Turn(None))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(turns) = self.0.take() else { return };
        loop {
            let next = turns.0.borrow_mut().line.pop_front();
            let Some(next) = next else { break };
            if !next.is_canceled() {
                // Should the waiter leave in this moment, its turn is dropped and given on again.
                let _ = next.send(Self(Some(turns)));
                return;
            }
        }
        let mut state = turns.0.borrow_mut();
        state.free = state.free.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    //! As many at once as there are turns, and none is lost.

    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn a_turn_goes_on_to_who_still_waits() {
        let turns = Turns::new(1);
        let first = turns.take().now_or_never().unwrap();
        let mut leaves = Box::pin(turns.take());
        let mut waits = Box::pin(turns.take());
        assert!((&mut leaves).now_or_never().is_none());
        assert!((&mut waits).now_or_never().is_none());
        drop(leaves);
        drop(first);
        let turn = (&mut waits).now_or_never().unwrap();
        assert!(turns.take().now_or_never().is_none());
        drop(turn);
        assert!(turns.take().now_or_never().is_some());
    }
}
