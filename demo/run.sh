#!/bin/sh
# Train a small model on 60 annotated laboratory protocols, then let it annotate one it never saw.
set -eu
cd "$(dirname "$0")/.."
spanloom train fixtures/wlp -o runs/demo
spanloom annotate demo/unseen.txt -m runs/demo --to text
