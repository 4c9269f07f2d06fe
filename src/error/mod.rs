//! Errors: one catalogue, one message for a timeout.
