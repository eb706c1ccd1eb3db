"""Rewrite rules: small named functions, each with a header, an example and a measure it lowers."""
