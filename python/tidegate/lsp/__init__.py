"""The language server of definitions documents, ``tidegate lsp``, over pygls.

Only ``command`` may be imported without the extra ``tidegate[lsp]``.
"""
