"""Tables and figures as HTML, terminal output, LaTeX, Markdown, CSV and JSON."""
