//! What a zone does to local times. Pure: the offsets are somebody else's to know.
//!
//! A local time can be there once, not at all (the clocks were put forward) or twice (they were put
//! back). That is decided here, once for every kind of schedule:
//!
//! - one that is not there stands for the moment at which the clocks were put forward;
//! - one that is there twice is meant the first time.

use super::calendar::DAY_MS;

/// Knows how far a zone's clocks are ahead of UTC.
pub trait Offsets {
    /// How far they are ahead at a moment, in milliseconds.
    ///
    /// # Errors
    ///
    /// When the platform cannot tell.
    fn offset_ms(&self, at: i64) -> Result<i64, String>;
}

/// No clocks are ever put forward or back.
#[derive(Debug, Clone, Copy)]
pub struct Utc;

impl Offsets for Utc {
    fn offset_ms(&self, _at: i64) -> Result<i64, String> {
        Ok(0)
    }
}

/// The moments at which the clocks show a local time, in order: none, one or two.
///
/// # Errors
///
/// When the platform cannot tell.
pub fn moments(zone: &impl Offsets, local: i64) -> Result<Vec<i64>, String> {
    let mut found: Vec<i64> = Vec::new();
    // Offsets are within a day, and no zone changes its offset twice in two days.
    for near in [local.saturating_sub(DAY_MS), local.saturating_add(DAY_MS)] {
        let at = local.saturating_sub(zone.offset_ms(near)?);
        if !found.contains(&at) && zone.offset_ms(at)? == local.saturating_sub(at) {
            found.push(at);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The one moment that a local time stands for.
///
/// # Errors
///
/// When the platform cannot tell.
pub fn moment(zone: &impl Offsets, local: i64) -> Result<i64, String> {
    if let Some(first) = moments(zone, local)?.first() {
        return Ok(*first);
    }
    // It is not there: between these two the clocks were put forward.
    let mut before = local.saturating_sub(DAY_MS.saturating_mul(2));
    let mut after = local.saturating_add(DAY_MS.saturating_mul(2));
    let old = zone.offset_ms(before)?;
    while after.saturating_sub(before) > 1 {
        let middle = before.saturating_add(after.saturating_sub(before).div_euclid(2));
        if zone.offset_ms(middle)? == old {
            before = middle;
        } else {
            after = middle;
        }
    }
    Ok(after)
}

/// Whether the clocks run on without a change around a day of local time, and how far ahead then.
///
/// # Errors
///
/// When the platform cannot tell.
pub fn steady(zone: &impl Offsets, day: i64) -> Result<Option<i64>, String> {
    let start = day.saturating_mul(DAY_MS);
    let before = zone.offset_ms(start.saturating_sub(DAY_MS))?;
    let after = zone.offset_ms(start.saturating_add(DAY_MS.saturating_mul(2)))?;
    Ok((before == after).then_some(before))
}
