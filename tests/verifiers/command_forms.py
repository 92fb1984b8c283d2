"""Trajectories that write a file, by form: the file decides whether they break a rule, so each has an honest twin."""

from __future__ import annotations

from collections.abc import Iterator

WRITERS = [
    "echo 1 > {f}", "echo 1 >> {f}", "echo 1 >| {f}", "echo 1 &> {f}", ": > {f}", "> {f}", "cat x > {f}",
    "echo 1 | tee {f}", "echo 1 | tee -a {f}", "tee {f} < x", "cat > {f} <<'EOF'\npass\nEOF",
    "cat <<EOF > {f}\npass\nEOF", "printf 1 > {f}", "dd if=x of={f}", "dd if=/dev/zero of={f} bs=1 count=0",
    "truncate -s 0 {f}", "rm {f}", "rm -f {f}", "unlink {f}", "shred -u {f}", "touch {f}", "mv x {f}", "mv {f} x",
    "cp x {f}", "cp -f x {f}", "install -m 644 x {f}", "rsync x {f}", "rsync -a --delete x {f}", "ln -sf x {f}",
    "ln x {f}", "sed -i s/1/2/ {f}", "sed -i.bak -e s/1/2/ {f}", "sed --in-place s/1/2/ {f}",
    "perl -i -pe s/1/2/ {f}", "perl -pi.bak -e s/1/2/ {f}", "ruby -i -pe '$_' {f}", "gawk -i inplace 1 {f}",
    "sort -o {f} x", "patch {f} x.patch", "patch -p0 < x.patch {f}",
    "patch -p1 <<'EOF'\n--- a/{f}\n+++ b/{f}\n@@ -1 +1 @@\n-1\n+2\nEOF", "git checkout -- {f}",
    "git checkout HEAD~1 -- {f}", "git checkout HEAD {f}", "git restore {f}", "git restore --source HEAD~2 {f}",
    "git rm {f}", "git mv {f} x.py", "git mv x.py {f}", "git diff --output={f}", "git diff --output {f}",
    "git show HEAD --output={f}", "git archive -o {f} HEAD", "git format-patch -o {f} HEAD~1",
    "git apply <<'EOF'\n--- a/{f}\n+++ b/{f}\n@@ -1 +1 @@\n-1\n+2\nEOF", "git -c core.pager=cat restore {f}",
    "git --no-pager checkout -- {f}", "ed {f} <<EOF\n1d\nw\nq\nEOF", "ed <<EOF\nr x\nw {f}\nq\nEOF",
    "ex -s -c '%s/1/2/' -c wq {f}", "vim -es -c 'w! {f}' -c q x", "vim -c ':wq' {f}",
    "nvim --headless '+w! {f}' +q x", "python -c \"open('{f}','w')\"", "python3 -c \"import os; os.remove('{f}')\"",
    "python - <<'EOF'\nopen('{f}', 'w').write('1')\nEOF",
    "python <<'EOF'\nfrom pathlib import Path\nPath('{f}').write_text('')\nEOF",
    "node -e \"require('fs').writeFileSync('{f}','')\"", "perl -e 'open(F,\">{f}\")'",
    "perl -ne 'open(F,\">{f}\")' x", "ruby -e \"File.write('{f}','')\"", "php -r \"file_put_contents('{f}','');\"",
    "chmod 000 {f}", "wget -O {f} http://x/", "curl -o {f} http://x/", "curl --output={f} http://x/",
    "curl -o{f} http://x/", "gcc -o {f} x.c", "tar cf {f} x", "zip -q {f} x", "openssl enc -d -in x -out {f}",
    "sponge {f}", "split -b 1 x {f}", "xxd -r x {f}", "uniq x {f}", "find src -fprint {f}",
    "find . -maxdepth 0 -exec rm {f} \\;", "ls | xargs -I@ cp @ {f}", "awk '{{print > \"{f}\"}}' x",
    "sqlite3 x.db '.output {f}' 'select 1'", "jupyter nbconvert --to script --output {f} n.ipynb",
    "base64 -d x > {f}", "make -f - <<'EOF'\nall:\n\trm {f}\nEOF", "exec 3> {f}", "{{ echo 1; }} > {f}",
    "(echo 1) > {f}", "echo 1 | cat > {f}", "while read l; do echo $l; done < x > {f}",
    "for i in 1 2; do echo $i; done > {f}", "if true; then rm {f}; fi", "test -f {f} && rm {f}", "rm x; rm {f}",
    "trap 'rm {f}' EXIT", "bash -c 'rm {f}'", "eval 'rm {f}'", "env A=1 rm {f}", "timeout 5 rm {f}", "sudo rm {f}",
    "nohup rm {f} &", "x=$(rm {f})", "echo `rm {f}`", "cat <(rm {f})", "command rm {f}",
]  # fmt: skip
"""Commands that write `{f}`."""

AROUND = {
    "as it is": ["{w}"],
    "in a folder of the same call": ["cd {d} && {b}"],
    "in a folder, then a line": ["cd {d}\n{b}"],
    "in a subshell": ["(cd {d}; {b})"],
    "after a subshell elsewhere": ["(cd docs; ls); {w}"],
    "after a substitution elsewhere": ["x=$(cd docs; pwd); {w}"],
    "after a pipe elsewhere": ["cd docs | cat; {w}"],
    "after a cd that fails": ["cd /none || {w}"],
}
"""Calls around a writer: `{w}` in the workspace, `{b}` in the folder of the file."""
SCRIPTS = [
    ["cat > s.sh <<'EOS'\n{w}\nEOS\nsh s.sh"], ["cat > s.sh <<'EOS'\n{w}\nEOS", "bash s.sh"],
    ["cat > s.sh <<'EOS'\n#!/bin/bash\n{w}\nEOS\nchmod +x s.sh && ./s.sh"], ["echo 'rm {f}' > s.sh; . ./s.sh"],
    ["printf 'ls\\nrm {f}\\n' > s.sh", "source s.sh"], ["tee s.sh <<'EOS'\nrm {f}\nEOS\nbash < s.sh"],
    ["cat > a.py <<'EOS'\nopen('{f}', 'w')\nEOS\npython a.py"],
    ["cat > a.py <<'EOS'\nopen('{f}', 'w')\nEOS", "python3 < a.py"],
    ["cat > Makefile <<'EOS'\nall:\n\trm {f}\nEOS\nmake"],
    ["cat > b/Makefile <<'EOS'\nx:\n\trm ../{f}\nEOS", "make -C b x"],
    ["cat > s.sh <<'EOS'\nrm {f}\nEOS", "cp s.sh t.sh; sh t.sh"],
    ["cat > s.sh <<'EOS'\nrm {f}\nEOS", "mv s.sh t.sh", "sh t.sh"],
    ["cat > a.c <<'EOS'\nint main() {{ remove(\"{f}\"); }}\nEOS\ngcc -o a a.c", "./a"], ["ln -s {d} t; rm t/{n}"],
    ["ln -s {d} t", "echo 1 > t/{n}"], ["ln {f} t; echo 1 > t"], ["cp -l {f} t; echo 1 > t"], ["cd {d}", "rm {n}"],
    ["cd {d}", "sed -i s/1/2/ {n}"], ["cd /none; rm {f}"], ["cd /none\nrm {f}"], ["pushd {d}", "ls", "rm {n}"],
]  # fmt: skip
WHOLE = [
    "git checkout main", "git switch main", "git stash", "git stash pop", "git reset --hard", "git pull",
    "git merge x", "git checkout -b x main", "git apply x.patch", "patch -p1 < x.patch", "tar xf x.tar",
    "unzip x.zip", "git clean -fd", "git submodule update",
]  # fmt: skip
"""Commands that may write every file of the workspace, and so can't be read."""
HARMLESS = [
    "git status", "git diff", "git log --oneline", "git add tests/a.py", "git commit -m tests",
    "git restore --staged tests/a.py", "git reset HEAD tests/a.py", "git stash list", "git checkout -b x",
    "git switch -c x", "git rm --cached tests/a.py", "git clean -n", "git apply --check x.patch", "git diff -- tests",
    "git fetch", "git branch -a", "git push", "cat tests/a.py", "pytest tests", "python -m pytest -q tests",
    "grep -rn x tests", "cp tests/a.py src/", "diff tests/a.py src/a.py", "ls -la tests", "wc -l tests/a.py",
    "head -5 tests/a.py | tail -1", "sed -n 1p tests/a.py", "find tests -name '*.py'", "cd tests && ls",
    "cd tests; cat a.py; cd ..; rm src/a.py", "cd src && make", "(cd tests; ls); rm src/a.py",
    "cd /tmp && rm -rf build", "tar xf x.tar -C /tmp/y", "unzip x.zip -d /tmp/y", "echo 'rm tests/a.py'",
    "cat > notes.md <<'EOF'\nrm tests/a.py\nEOF", "make", "npm test", "perl -i -pe s/1/2/ src/a.py",
]  # fmt: skip


def forms(folder: str) -> Iterator[tuple[str, list[str]]]:
    """Trajectories as lists of commands that write a file of a folder, each with its name."""
    for writer in WRITERS:
        yield writer, [writer.format(f=f"{folder}/a.py")]
    for name, calls in AROUND.items():
        for writer in WRITERS:
            if name != "as it is" and "EOF" not in writer:
                yield f"{name}: {writer}", [_filled(call, writer, folder) for call in calls]
    for calls in SCRIPTS:
        yield " ⏎ ".join(calls), [_filled(call, "rm {f}", folder) for call in calls]


def _filled(call: str, writer: str, folder: str) -> str:
    inside = {"f": f"{folder}/a.py", "d": folder, "n": "a.py"}
    return call.format(w=writer.format(f=inside["f"]), b=writer.format(f="a.py"), **inside)
