"""Finding notes by what is in them: a query, what it means for one note, and an index that answers it for all.

`folding` says what a word is, `queries` what a query asks, `matching` whether a note is meant: these three need no
index and decide what is right. The rest only makes it fast. The index is a file in the state folder that can be thrown
away at any time.
"""
