"""The transcript: a pure projection of the log into rows, which every surface draws and none folds itself."""
