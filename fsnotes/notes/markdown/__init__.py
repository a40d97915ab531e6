"""What a note's text says as Markdown: headings, sections, links, tags. No I/O, nothing but the standard library.

`blocks.py` finds the blocks, which is all that headings need; `inlines.py` looks into their text for links and
tags; `outline.py` makes sections of headings; `property_links.py` finds the links in frontmatter. All offsets are
characters of the text that was given, and all work is linear in its size.

Where a group is repeated possessively and may fail behind its first character, its last alternative is `(?!)`: Python
before 3.11.5 goes on from where the group failed, and entering one that fails at once puts it back (gh-106052).

The rules are CommonMark's (0.31), with tables and footnotes as GitHub has them, and what Obsidian adds: wikilinks,
embeds, tags, comments, math, block ids. Where these disagree, each module says what holds.
"""
