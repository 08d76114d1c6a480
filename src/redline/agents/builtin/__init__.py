"""The built-in agent: a model loop on pydantic-ai with the tools of `redline.tools`."""
