#!/bin/sh
# Annotate an article with the model that ships, then train a small one of one's own and use it.
set -eu
cd "$(dirname "$0")/.."
mkdir -p runs build/demo

echo "An article, analysed by spanloom-en in one pass of its encoder:"
spanloom annotate demo/article.txt
spanloom annotate demo/article.txt -o build/demo/article.html

echo "A model of one's own: 60 annotated laboratory protocols to learn from, and one it never saw:"
spanloom train demo/recipe.yaml -o runs/demo
spanloom annotate demo/unseen.txt -m runs/demo
spanloom annotate demo/unseen.txt -m runs/demo -o build/demo/unseen.html

echo "Both as pages, to open in a browser:"
echo "  $(pwd)/build/demo/article.html"
echo "  $(pwd)/build/demo/unseen.html"
