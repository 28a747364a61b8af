"""debian_changelog.py CHANGELOG.md CONTROL    prints debian/changelog: the versions and items of the one, by the maintainer of the other"""
import datetime
import email.utils
import re
import sys
import textwrap

with open(sys.argv[1], encoding="utf-8") as f:
    parts = re.split(r"^## \[(\d[^]]*)\] - (\S+)\n", f.read(), flags=re.M)
with open(sys.argv[2], encoding="utf-8") as f:
    maintainer = re.search(r"^Maintainer: (.*)$", f.read(), re.M)[1]
for version, date, text in zip(parts[1::3], parts[2::3], parts[3::3]):
    print(f"gcc2nn ({version}) unstable; urgency=medium\n")
    for item in re.findall(r"^- (.*\n(?:  .*\n)*)", text, re.M):
        print(textwrap.fill(" ".join(item.split()), 79, initial_indent="  * ", subsequent_indent="    ", break_long_words=False))
    day = datetime.datetime.fromisoformat(date).replace(tzinfo=datetime.timezone.utc)
    print(f"\n -- {maintainer}  {email.utils.format_datetime(day)}\n")
