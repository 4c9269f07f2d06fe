//! When a schedule fires, as it is put and as it is kept.

use super::Put;
use super::calendar::{self, Written};
use super::cron::Cron;
use super::rule::Rule;
use super::zone;
use crate::error::Fault;
use crate::platform::zone::Zone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The shortest interval: the Worker's own schedule comes once a minute.
const MIN_EVERY_MS: i64 = 60_000;

/// The longest interval, and how far ahead a time may be: ten years.
const MAX_AHEAD_MS: i64 = 315_576_000_000;

/// Characters of a zone's name.
const MAX_ZONE_BYTES: usize = 64;

/// The rule as it is kept.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Kept {
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    every_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
}

impl Kept {
    pub(super) fn rule(&self) -> Result<(Rule, Zone), String> {
        let zone =
            Zone::of(self.zone.as_deref().unwrap_or("UTC")).map_err(|thrown| thrown.to_string())?;
        let rule = match (&self.cron, self.every_ms, self.from, self.at) {
            (Some(cron), ..) => Rule::Cron(Cron::read(cron)?),
            (None, Some(every_ms), Some(from), _) => Rule::Every { every_ms, from },
            (None, None, _, Some(at)) => Rule::Once { at },
            _ => return Err("the rule is none".to_owned()),
        };
        Ok((rule, zone))
    }
}

/// The rule that is meant.
pub(super) fn kept(wanted: &Put, now: i64) -> Result<Kept, Fault> {
    let mut kept = Kept { cron: None, zone: None, every_ms: None, from: None, at: None };
    let given = [wanted.cron.is_some(), wanted.every.is_some(), wanted.once.is_some()];
    if given.iter().filter(|given| **given).count() != 1 {
        return Err(Fault::invalid("schedule", "must have one of cron, every and once"));
    }
    let zone = match &wanted.zone {
        Some(_) if wanted.every.is_some() => {
            let what = "is for cron, or for once with a local time; an interval has none";
            return Err(Fault::invalid("zone", what));
        }
        zone => zone_of(zone.as_deref().unwrap_or("UTC"))?,
    };
    if let Some(cron) = &wanted.cron {
        Cron::read(cron).map_err(|what| Fault::invalid("cron", what))?;
        kept.cron = Some(cron.trim().to_owned());
        kept.zone = Some(wanted.zone.clone().unwrap_or_else(|| "UTC".to_owned()));
    } else if let Some(every) = &wanted.every {
        kept.every_ms = Some(interval(every)?);
        kept.from = Some(now.saturating_add(kept.every_ms.unwrap_or_default()));
    } else if let Some(once) = &wanted.once {
        let at = match (once.as_i64(), once.as_str().map(calendar::read)) {
            (Some(at), _) | (None, Some(Some(Written::Moment(at)))) => at,
            (None, Some(Some(Written::Local(local)))) => {
                zone::moment(&zone, local).map_err(|error| Fault::internal("none", error))?
            }
            _ => {
                let what = "must be Unix milliseconds or a time such as 2026-12-01T09:00:00Z";
                return Err(Fault::invalid("once", what));
            }
        };
        if at <= now {
            return Err(Fault::invalid("once", "is in the past; nothing was stored"));
        }
        if at.saturating_sub(now) > MAX_AHEAD_MS {
            return Err(Fault::invalid("once", "is more than ten years ahead"));
        }
        kept.at = Some(at);
    }
    Ok(kept)
}

fn zone_of(name: &str) -> Result<Zone, Fault> {
    let plain = name.len() <= MAX_ZONE_BYTES
        && name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"/_+-".contains(&b));
    let known = if plain { Zone::of(name).ok() } else { None };
    known.ok_or_else(|| {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(MAX_ZONE_BYTES).collect();
        let what = format!("{shown} is no time zone; write one such as Europe/Berlin, or UTC");
        Fault::invalid("zone", what)
    })
}

/// An interval, in milliseconds.
fn interval(every: &Value) -> Result<i64, Fault> {
    let ms = match every {
        Value::Number(_) => every.as_i64(),
        Value::String(text) => span(text),
        _ => None,
    };
    match ms {
        Some(ms) if (MIN_EVERY_MS..=MAX_AHEAD_MS).contains(&ms) => Ok(ms),
        Some(_) => Err(Fault::invalid("every", "must be from one minute to ten years")),
        None => {
            let what = "must be milliseconds or a text such as 15m, 1h 30m or 2d";
            Err(Fault::invalid("every", what))
        }
    }
}

/// Reads `1h 30m`: whole numbers of days, hours, minutes and seconds.
fn span(text: &str) -> Option<i64> {
    let mut total = 0_i64;
    for part in text.split_ascii_whitespace() {
        let at = part.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = part.split_at_checked(at)?;
        let factor = match unit {
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(factor)?)?;
    }
    (total > 0).then_some(total)
}

/// The first time after `now`.
pub(super) fn first(kept: &Kept, now: i64) -> Result<u64, Fault> {
    let next = kept.rule().and_then(|(rule, zone)| rule.next(&zone, now));
    let next = next.map_err(|error| Fault::internal("none", error))?;
    next.and_then(|at| u64::try_from(at).ok())
        .ok_or_else(|| Fault::invalid("schedule", "has no time that is still to come"))
}

/// Times of today are far below 2^63.
pub(super) fn whole(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    //! An interval is read, or refused.

    use super::*;
    use serde_json::json;

    #[test]
    fn an_interval_is_read() {
        for (text, ms) in [
            ("15m", Some(900_000)),
            ("1h 30m", Some(5_400_000)),
            ("2d", Some(172_800_000)),
            ("90s", Some(90_000)),
            ("", None),
            ("15", None),
            ("m", None),
            ("1.5h", None),
            ("-1h", None),
            ("99999999999999999999d", None),
        ] {
            assert_eq!(span(text), ms, "{text}");
        }
        assert!(interval(&json!(59_999)).is_err() && interval(&json!("59s")).is_err());
        assert_eq!(interval(&json!(60_000)).ok(), Some(60_000));
        assert!(interval(&json!(1.5)).is_err() && interval(&json!([])).is_err());
    }
}
