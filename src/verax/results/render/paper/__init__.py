"""Figures for papers, drawn by matplotlib: SVG, PNG and PDF in the width of a column."""
