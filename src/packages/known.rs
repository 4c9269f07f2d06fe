//! What an isolate remembers of packages, so that an invocation asks the database for nothing before its
//! run begins.
//!
//! A name may point at another version by now. So nothing is refused by what is remembered, and a run
//! that is ordered by it begins only if the name still points there: the batch that begins it looks
//! ([`crate::store::runs::begin`]). Where it does not, the package is read anew ([`super::order_again`]).

use super::{Export, exports_of};
use crate::error::{Code, Fault};
use crate::store::packages::Version;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Packages that an isolate remembers; then it begins anew. Far more than one serves at a time.
const MAX_PACKAGES: usize = 256;

/// The longest description of exports that is remembered, in bytes: all of them take 16 MB at most.
const MAX_EXPORTS_BYTES: usize = 65_536;

thread_local! {
    static PACKAGES: RefCell<HashMap<(String, String), Rc<Known>>> = RefCell::default();
}

/// A version with its exports.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) version: Version,
    pub(super) exports: BTreeMap<String, Export>,
}

impl Known {
    pub(super) fn of(version: Version) -> Result<Self, Fault> {
        let exports = exports_of(&version)?;
        Ok(Self { version, exports })
    }
}

/// The version that a name pointed at when it was last read.
pub(super) fn recall(principal: &str, name: &str) -> Option<Rc<Known>> {
    let key = (principal.to_owned(), name.to_owned());
    PACKAGES.with_borrow(|packages| packages.get(&key).map(Rc::clone))
}

/// Remembers the version that a name points at.
pub(super) fn remember(principal: &str, known: &Rc<Known>) {
    let Version { name, exports, .. } = &known.version;
    if exports.len() > MAX_EXPORTS_BYTES {
        return;
    }
    PACKAGES.with_borrow_mut(|packages| {
        if packages.len() >= MAX_PACKAGES {
            packages.clear();
        }
        packages.insert((principal.to_owned(), name.clone()), Rc::clone(known));
    });
}

/// The word by which a fault says that a package moved on.
const MOVED: &str = "packageMoved";

/// The fault of a run that did not begin because its package is not what was remembered.
#[must_use]
pub fn moved(name: &str) -> Fault {
    let message = format!("The package {name} was changed while a run of it began; nothing ran.");
    Fault::new(Code::PackageNotFound, message).with(MOVED, true)
}

/// Whether a fault is one of [`moved`].
#[must_use]
pub fn has_moved(fault: &Fault) -> bool {
    fault.details.contains_key(MOVED)
}
