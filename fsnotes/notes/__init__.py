"""Notes on disk: a synchronous library over one `sandbox.Root`.

It knows no callers, no protocol and no sockets.
"""
