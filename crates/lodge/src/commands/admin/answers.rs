//! What is said of the server's answers.

pub(super) const OTHER_ANSWER: &str = "the server answered something else; is it another version?";

/// Problems that are printed; the others are counted.
pub(super) const PROBLEMS_SHOWN: usize = 20;
