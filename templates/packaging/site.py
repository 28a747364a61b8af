#!/usr/bin/env python3
"""site.py BUILDDIR    the documentation as one site, BUILDDIR/site, by MkDocs; a warning or a dead link is an error

The Markdown files are laid out in BUILDDIR/site-pages as in the repository, with the files that they link to, so that a
link is right in both or in neither. MkDocs says which pages are missing; what it does not look at, anchors and links to
folders, is looked for in what it wrote, and that nothing comes from the network.
"""
import glob
import html.parser
import os
import re
import shutil
import subprocess
import sys
from urllib.parse import unquote, urlsplit

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
PAGES = ["*.md", "docs/**/*.md", "examples/**/README.md"]
LINK = re.compile(r"\]\(([^)#\s]+)")


class Page(html.parser.HTMLParser):
    """What one page holds and wants: anchors, links, and what a browser loads with it."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs[key] for key in ("id", "name") if attrs.get(key)}
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        elif tag in ("script", "img", "link"):
            self.loads += [attrs[key] for key in ("src", "href") if attrs.get(key) and attrs.get("rel") != "canonical"]


def lay_out(folder):
    """The pages and what they link to, as in the repository."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = [page for pattern in PAGES for page in glob.glob(pattern, root_dir=ROOT, recursive=True)]
    wanted = set(pages)
    for page in pages:
        with open(os.path.join(ROOT, page), encoding="utf-8") as f:
            links = [os.path.normpath(os.path.join(os.path.dirname(page), link)) for link in LINK.findall(f.read())]
        for link in links:
            path = os.path.join(ROOT, link)
            if os.path.isdir(path):
                wanted |= {os.path.join(link, name) for name in os.listdir(path) if os.path.isfile(os.path.join(path, name))}
            elif os.path.isfile(path) and not link.startswith(".."):
                wanted.add(link)
    for name in wanted:
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), os.path.join(folder, name))


def dead_links(site):
    pages = {path: Page(path) for path in glob.glob(os.path.join(site, "**", "*.html"), recursive=True)}
    for path, page in sorted(pages.items()):
        if os.path.basename(path) in ("404.html", "search.html"):    # served at any address
            continue
        name = os.path.relpath(path, site)
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    yield f"{name}: loads {link} from the network"
                continue
            to = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path))) if parts.path else path
            if os.path.isdir(to):
                to = os.path.join(to, "index.html")
            if not os.path.isfile(to):
                yield f"{name}: {link} leads nowhere"
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].anchors:
                yield f"{name}: there is no #{parts.fragment} in {os.path.relpath(to, site)}"


def main():
    build = os.path.abspath(sys.argv[1])
    if not shutil.which("mkdocs"):
        print("skipped: there is no mkdocs (Debian: mkdocs, mkdocs-literate-nav)")
        sys.exit(77)
    pages, site = os.path.join(build, "site-pages"), os.path.join(build, "site")
    lay_out(pages)
    if subprocess.run(["mkdocs", "build", "--strict", "-f", os.path.join(HERE, "mkdocs.yml"), "-d", site],
                      env={**os.environ, "SITE_PAGES": pages}, check=False).returncode:
        sys.exit(1)
    dead = list(dead_links(site))
    print("\n".join(dead) if dead else f"{site}/index.html")
    sys.exit(bool(dead))


if __name__ == "__main__":
    main()
