"""brat standoff: NAME.txt with its NAME.ann read and written back unchanged, annotation.conf."""
