"""112 texts that a terminal, a spreadsheet, Markdown, LaTeX, HTML or rich would obey."""

from __future__ import annotations

CONTROLS = tuple(f"a{chr(code)}b" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n")
DIRECTIONS = tuple(f"a{chr(code)}b" for code in (*range(0x2028, 0x202F), *range(0x2066, 0x206A)))
SEQUENCES = (
    "\x1b[31mred\x1b[0m",
    "\x1b[2J\x1b[H",
    "\x1b]0;title\x07",
    "\x1b]8;;https://example.invalid\x1b\\click\x1b]8;;\x1b\\",
    "\x1bP+q544e\x1b\\",
    "\x1b[1A\x1b[2Koverwritten",
    "\x1b]52;c;b3duZWQ=\x07",
    "\x9b31mred",
    "real\rfake",
    "real\nerror: forged",
)
FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(A1)", "＝1+1", "＋1+1", "－1+1", "＠SUM(A1)", " =1+1", "\u00a0=1+1")
LINKS = (
    "https://example.invalid/x",
    "www.example.invalid",
    "mail@example.invalid",
    "@someone",
    ":smile:",
    "#123",
    "[a](https://example.invalid)",
    "![a](https://example.invalid/x.png)",
    "| a | b |",
    "1. one",
    "> quoted",
    "`code` *bold* _slanted_ ~struck~",
)
MARKUP = (
    "[bold red]loud[/] [/]",
    "[link=file:///etc/passwd]x[/link]",
    "<script>document.documentElement.setAttribute('ran','1')</script>",
    "\\input{/etc/passwd} \\write18{id} ^^M % # $ & _ { }",
    "{{7*7}} ${7*7} %s %(key)s {0} {label}",
    "\"quoted\" 'quoted' \\",
)
HOSTILE = (*CONTROLS, *DIRECTIONS, *SEQUENCES, *FORMULAS, *LINKS, *MARKUP)
OBEYED = frozenset({*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0))} - {"\n"}) | {
    chr(code) for code in (*range(0x2028, 0x202F), *range(0x2066, 0x206A))
}
"""Characters that must not reach a terminal."""
