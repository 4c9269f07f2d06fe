//! Whatever crashes, whoever decides: the outcome, the effects and the lines are those of a run that
//! nothing interrupted. Each rule of the host is needed: without it some history fails.
//!
//! `npm run simulate -- --histories N [--seed S]` runs as many as one likes.

mod simulation;

use simulation::{Off, history};

#[test]
fn histories_end_as_uninterrupted_ones() {
    let mut crashes = 0;
    let mut parks = 0;
    let mut sleeps = 0;
    for seed in 0..10_000 {
        match history(seed, None) {
            Ok(counts) => {
                crashes += counts.crashes;
                parks += counts.parks;
                sleeps += counts.sleeps;
            }
            Err(what) => panic!("seed {seed}: {what}"),
        }
    }
    assert!(crashes > 500 && parks > 500, "{crashes} crashes, {parks} parks");
    assert!(sleeps > 100, "{sleeps} parks with a sleep");
}

#[test]
fn each_rule_is_needed() {
    for off in Off::ALL {
        let failed = (0..5_000).find(|seed| history(*seed, Some(off)).is_err());
        assert!(failed.is_some(), "{off:?} off, and nothing failed");
    }
}
