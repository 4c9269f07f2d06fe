//! Random histories of the journal, as many as one likes: `npm run simulate -- --histories N
//! [--seed S]`. A failure prints the seed by which it can be had again.

#[path = "../tests/simulation/mod.rs"]
mod simulation;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: u64| {
        let place = given.iter().position(|word| word == name);
        let value = place.and_then(|place| given.get(place.saturating_add(1)));
        match value.map(|value| value.parse()) {
            None if place.is_none() => default,
            Some(Ok(number)) => number,
            _ => {
                eprintln!("{name} wants a whole number");
                std::process::exit(2);
            }
        }
    };
    let histories = number("--histories", 20_000);
    let seed = number("--seed", 1);
    println!("seed {seed}, {histories} histories");
    let (mut passed, mut failed) = (0_u64, 0_u64);
    let mut sum = simulation::Counts::default();
    for history in seed..seed.saturating_add(histories) {
        match simulation::history(history, None) {
            Ok(counts) => {
                passed = passed.saturating_add(1);
                sum.attempts = sum.attempts.saturating_add(counts.attempts);
                sum.crashes = sum.crashes.saturating_add(counts.crashes);
                sum.parks = sum.parks.saturating_add(counts.parks);
                sum.sleeps = sum.sleeps.saturating_add(counts.sleeps);
                sum.events = sum.events.saturating_add(counts.events);
                sum.effects = sum.effects.saturating_add(counts.effects);
            }
            Err(what) => {
                failed = failed.saturating_add(1);
                if failed <= 20 {
                    println!("failed: --histories 1 --seed {history}: {what}");
                }
            }
        }
    }
    println!(
        "{} attempts, {} crashes, {} parks, {} of them with a sleep, {} events, {} effects",
        sum.attempts, sum.crashes, sum.parks, sum.sleeps, sum.events, sum.effects
    );
    println!("{passed} passed, {failed} failed");
    std::process::exit(i32::from(failed > 0));
}
