"""The HTTP service over the engine: ``pip install 'tidegate[server]'``, then ``tidegate serve``."""
