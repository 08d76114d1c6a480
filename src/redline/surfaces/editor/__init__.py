"""An editor as a surface: Redline as an agent of the Agent Client Protocol, on standard input and output."""
