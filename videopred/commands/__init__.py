"""What commands do: one function each, flags in, one library call, paths and numbers out. Light until they run."""
