"""A second builder of gold tables: reads a question's text, walks the facts row by row, and shares no code with the first.

It knows the facts (rows of entities and relations, the time for which they hold, what sites claim), the words that the author of a world
gives, and the sentences of `english.py` and `chinese.py`. It knows nothing of how a question was made: no shape, no SQL, no parameters.
A text that it cannot read, or that it can read in two ways with two answers, counts as a difference.
"""
