"""Texts such as agents write, each of a kind that has gone wrong somewhere.

By its name each has what is seen of it: the signs that make its structure left out, and what stands instead of them
put in. White space is not compared. `SEEN` as None says that all of it is seen as it is written.
"""

SMILE, FAMILY, FLAG = "😀", "👩\u200d👩\u200d👧\u200d👦", "🇩🇪"

_CODE = "".join(f"def f{n}(x: int) -> list[int]:\n    return [x] * {n}\n\n" for n in range(230))
_LINES = "".join(f"Line {n} says something of its own.\n" for n in range(400))
_WORDS = " ".join(f"word{n}" for n in range(2000))
_ROWS = [(f"row {n}", f"value {n}") for n in range(300)]

NASTY: dict[str, tuple[str, str | None]] = {
    "a generic type": ("Use List<T> and Map<String, List<int>> here.", None),
    "HTML that is named": ("A <b>bold</b> tag and <script>alert(1)</script>, <!-- a comment -->", None),
    "a block of HTML": ("<details>\n<summary>More</summary>\n\nHidden\n\n</details>", None),
    "line breaks of HTML": ("one<br>two<br/>three and `<br>`", "one two three and <br>"),
    "a dunder": ("Call __init__ and a.__class__.__name__, not __main__.py", None),
    "bold by underscores": ("__This__ and __that thing__", "This and that thing"),
    "snake case": ("set snake_case_name and _private to my_var_", None),
    "arguments": ("def f(*args, **kwargs): g(*args, **kwargs)", None),
    "a product": ("2 * 3 * 4 = 24 and 2*3*4 = 24 and 2**10 and a*b + c*d", None),
    "globs": ("src/**/*.py and src/*/foo/* and **/*.md", None),
    "a Windows path": ("C:\\Users\\_me\\new*file\\ and \\\\server\\share", None),
    "a regular expression": (r"^\d+\.\d*(\w\_\[a-z\])$ matches [^abc]", None),
    "an or": ("if a || b || c then ||x||", None),
    "an or in code": ("`a || b` and\n```\nif (a || b) || c\n```", "a || b and if (a || b) || c"),
    "single tildes": ("~5 of ~10, ~/home and ~~gone~~", "~5 of ~10, ~/home and gone"),
    "dollars": ("$x$ costs $5 or $10.50, $$E = mc^2$$ and $HOME/$USER", None),
    "LaTeX in brackets": (r"\(x_1\) and \[y\]", "(x_1) and [y]"),
    "escapes": (r"\*not bold\* and \_this\_ and \# that", "*not bold* and _this_ and # that"),
    "entities": ("&lt;b&gt; &amp; &copy; &#42;", "<b> & © *"),
    "entities of what is hidden": ("&#8238;evil&#x202e; &#x1b;[31m &#xfde0; &#0;", None),
    "entities that turn the text": ("a&lrm;b&shy;c&ZeroWidthSpace;d", "a\ufffdb\ufffdc\ufffdd"),
    "a relative link": ("see [the chat](adapters/chat.py#L10) now", "see the chat (adapters/chat.py#L10) now"),
    "a link whose text is its target": ("[a/b.py](a/b.py)", "a/b.py"),
    "odd links": (
        "[x](javascript:alert(1)) [y](file:///etc/passwd) [z](http://localhost:80/) [e]()",
        "x (javascript:alert(1)) y (file:///etc/passwd) z (http://localhost:80/) e",
    ),
    "links that open": ("[a](https://a.io/x_y_z?q=*1*) [b](mailto:a@b.io) <https://c.io>", "a b https://c.io"),
    "a link without text": ("[](https://a.io/x)", "https://a.io/x"),
    "a link of code": ("[`code`](https://a.io) **[bold](b.md)**", "code bold (b.md)"),
    "links by name": ("[one][1] and [two]\n\n[1]: https://a.io\n[two]: https://b.io", "one and two"),
    "names that nothing uses": ("[note]: this is a note\n[x]: https://a.io\n\nEnd", None),
    "footnotes": ("A claim.[^1]\n\n[^1]: https://a.io is the source", None),
    "images": (
        "![a cat](https://a.io/cat.png) ![](https://b.io/dog.png) ![x](local.png)",
        "🖼 a cat 🖼 https://b.io/dog.png 🖼 x (local.png)",
    ),
    "headings": ("# One\n## Two *it*\n###### Six\nSetext\n---\ntext", "One Two it Six Setext text"),
    "no headings": ("#5 is fixed, #hashtag too\n\nC# and F#", None),
    "a rule": ("above\n\n---\n\nbelow", "above ———————— below"),
    "nested lists": ("- a\n  - b\n    1. c\n    2. d\n      - e\n- f", "• a • b 1. c 2. d • e • f"),
    "numbers of people": (
        "1. one\n3. three\n7. seven\n\n4) four\n4) four again",
        "1. one 3. three 7. seven 4) four 4) four again",
    ),
    "tasks": ("- [ ] open\n- [x] done\n1. [ ] first\n2. second", "☐ open ☑ done 1. ☐ first 2. second"),
    "code in a list": ("1. Run:\n\n   ```sh\n   ls | wc\n   ```\n\n2. Then:\n   `x`", "1. Run: ls | wc 2. Then: x"),
    "quotes": ("> one\n> > two\n> - three\n\nafter", "one two • three after"),
    "a long quote": (
        "> " + "\n> ".join(f"line {n} of the quote" for n in range(90)),
        "\n".join(f"line {n} of the quote" for n in range(90)),
    ),
    "a table": ("| a | b |\n|---|:-:|\n| **x** | `y` |\n| long cell | |", "a | b ----------+-- x | y long cell |"),
    "a table with links": ("| a | b |\n|---|---|\n| [x](https://a.io) | y |\n\nafter", "a | b --+-- x | y x after"),
    "a table with too many cells": ("| a | b |\n|---|---|\n| 1 | 2 | 3 |", None),
    "an or in a table": ("| a | b |\n|---|---|\n| `x \\|\\| y` | z |", "a | b -------+-- x || y | z"),
    "an unclosed fence": ("Look:\n```python\nx = 1\n* y", "Look: x = 1 * y"),
    "an unclosed fence alone": ("```", None),
    "a fence with more than a language": ("```py title=a,b\nx\n```", "py title=a,b x"),
    "a command behind a fence": ("```ls -la /tmp\n```", "ls -la /tmp"),
    "fences in fences": ("````md\n```py\nx\n```\n````", "```py x ```"),
    "unclosed emphasis": ("**bold without end and *more\n\n_and `code", None),
    "all styles": ("**a *b ~~c~~* d** ***e*** # f", "a b c d e # f"),
    "bold around code": ("**the `code` in it** and *`all`*", "the code in it and all"),
    "control characters": (
        "\x1b[31mred\x07 \u202eevil\u202c a\u200bb\r\nc\rd",
        "␛[31mred␇ \ufffdevil\ufffd a\ufffdb c d",
    ),
    "lone surrogates": ("a\ud83d **b**", "a\ufffd b"),
    "right to left": ("**שלום** עולם: `קוד` و*مرحبا* بالعالم\n- פריט", "שלום עולם: קוד ومرحبا بالعالم • פריט"),
    "Chinese": ("这是**重点**内容，`代码`。", "这是重点内容，代码。"),
    "combining marks": ("**e\u0301a\u0308** " + "z" + "\u0301" * 300, "e\u0301a\u0308 z" + "\u0301" * 300),
    "only signs": ("*** ** * __ _ ~~ ` [ ] ( ) < > | \\", None),
    "brackets without end": ("[" * 300 + "a" + "]" * 100, None),
    "deep quotes": (">" * 200 + " deep", None),
    "deep lists": ("".join(f"{'  ' * n}- item {n}\n" for n in range(40)), " ".join(f"• item {n}" for n in range(40))),
    "emoji at every boundary": (SMILE * 5000, None),
    "families": (FAMILY * 900, None),
    "flags": ("x" + FLAG * 2500, None),
    "emoji in bold": (f"**{SMILE * 2000}** *{FAMILY * 300}*", SMILE * 2000 + FAMILY * 300),
    "one long word": ("x" * 9000, None),
    "many words": (_WORDS, None),
    "many lines": (_LINES, None),
    "ten thousand of code": (f"Here:\n\n```python\n{_CODE}```\n\nDone.", f"Here: {_CODE} Done."),
    "a long table": (
        "| a | b |\n|---|---|\n" + "".join(f"| {a} | {b} |\n" for a, b in _ROWS),
        "a | b --------+---------- " + " ".join(f"{a} | {b}" for a, b in _ROWS),
    ),
    "five thousand entities": ("**b** `c` " * 2500, "b c " * 2500),
    "many links": ("[l](https://a.io/x) " * 500, "l " * 500),
    "two hundred thousand": ("A sentence of **some** words. " * 6700, None),
    "many signs": ("*a* _b_ `c` " * 3000, None),
    "a long line in bold": (f"**{_WORDS}**", _WORDS),
}
