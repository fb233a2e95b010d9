"""What a page must have for keyboards, screen readers and weak eyes, checked in a browser."""

from __future__ import annotations

from support.browser import Browser

CHECK = r"""
(() => {
  const found = [];
  const report = (what, element) => found.push(`${what}: ${element.outerHTML.slice(0, 160)}`);
  const shown = (e) => e.getClientRects().length && getComputedStyle(e).visibility !== 'hidden';
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
  const named = (e) => {
    const text = (id) => document.getElementById(id)?.textContent;
    const by = (e.getAttribute('aria-labelledby') || '').split(' ').map(text);
    const labels = e.labels ? [...e.labels].map((label) => label.textContent) : [];
    return [e.getAttribute('aria-label') || '', ...by, ...labels, e.textContent].some((name) => name?.trim());
  };
  if (!document.documentElement.lang) found.push('no language');
  if (!document.title.trim()) found.push('no title');
  for (const selector of ['main', 'h1']) if (all(selector).length !== 1) found.push(`not one ${selector}`);
  for (const e of all('input:not([type=hidden]), select, textarea')) {
    const label = [...(e.labels || [])].some((one) => one.textContent.replace(e.textContent, '').trim());
    if (!label && !e.getAttribute('aria-label')) report('a field without a label', e);
  }
  for (const e of all('button, a[href], summary, [role=img], [role=region], nav, form[role], progress, dialog')) {
    if (!named(e)) report('no name', e);
  }
  for (const e of all('svg:not([aria-hidden])')) {
    if (!e.closest('[role=img], li') && !e.querySelector('title')) report('a picture without a role', e);
  }
  for (const e of document.querySelectorAll('[tabindex]')) if (e.tabIndex > 0) report('its own tab order', e);
  for (const e of document.querySelectorAll('[aria-labelledby], [aria-describedby]')) {
    const ids = `${e.getAttribute('aria-labelledby') || ''} ${e.getAttribute('aria-describedby') || ''}`;
    for (const id of ids.trim().split(/\s+/)) if (!document.getElementById(id)) report(`no element ${id}`, e);
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  for (const id of new Set(ids.filter((id, place) => ids.indexOf(id) !== place))) found.push(`two elements ${id}`);
  let level = 0;
  for (const e of all('h1, h2, h3, h4, h5, h6')) {
    const next = Number(e.tagName[1]);
    if (next > level + 1) report(`a heading after level ${level}`, e);
    level = next;
  }
  for (const e of all('table')) if (!e.querySelector('th')) report('a table without headers', e);
  // contrast of text, with backgrounds one over the other (WCAG 2, 1.4.3)
  const channels = (colour) => {
    const numbers = colour.match(/[\d.]+/g).map(Number);
    return numbers.length > 3 ? numbers : [...numbers, 1];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
  const light = (rgb) => {
    const linear = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (e) => {
    const chain = [];
    for (let at = e; at; at = at.parentElement) chain.push(channels(getComputedStyle(at).backgroundColor));
    return chain.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    const skipped = e.closest('svg, .unseen, option, [aria-disabled], :disabled, .skip-link');
    if (!node.textContent.trim() || !shown(e) || skipped) continue;
    const style = getComputedStyle(e);
    const back = behind(e);
    const [a, b] = [light(over(channels(style.color), back)), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) report(`contrast ${ratio.toFixed(2)}`, e);
  }
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) found.push(`scrolls sideways: ${page.scrollWidth} > ${page.clientWidth}`);
  return found;
})()
"""


def accessibility_problems(browser: Browser) -> list[str]:
    """What is wrong with the current page, a line each."""
    problems: list[str] = browser.ask(CHECK)
    return problems
