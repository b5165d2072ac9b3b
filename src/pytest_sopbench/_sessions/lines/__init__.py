"""Single lines of a saved session: are they what was written?"""
