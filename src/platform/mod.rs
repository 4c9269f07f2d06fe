//! The platform by hand: raw `sys` types inside each file, safe types outside. Nothing of
//! JavaScript passes this module but the opaque objects that its own functions take back.

pub mod clock;
pub mod d1;
pub mod exports;
pub mod loader;
pub mod random;
pub mod rs256;
pub mod seal;
pub mod text;
pub mod thrown;
pub mod workflows;
pub mod zone;
