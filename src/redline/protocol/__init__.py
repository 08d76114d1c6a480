"""The Agent Client Protocol on the wire: framing and messages, with the SDK behind one adapter."""
