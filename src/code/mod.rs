//! From what an agent wrote to a module that the sandbox can run.
