#!/bin/sh
# Train a small model on 60 annotated laboratory protocols, then let it annotate one it never saw.
set -eu
cd "$(dirname "$0")/.."
mkdir -p runs build/demo
spanloom train demo/recipe.yaml -o runs/demo
spanloom annotate demo/unseen.txt -m runs/demo
spanloom annotate demo/unseen.txt -m runs/demo -o build/demo/unseen.html
echo "The same with arcs, to open in a browser: $(pwd)/build/demo/unseen.html"
