"""The steps of the policies in compiled loops."""
