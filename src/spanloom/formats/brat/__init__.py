"""Read and write brat: standoff (NAME.txt with NAME.ann), collections, and annotation.conf."""
