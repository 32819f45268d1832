#!/bin/sh
# What of the Noto fonts is built in: ./subset.sh NotoSans-Regular.ttf NotoSans-SemiBold.ttf NotoSansMath-Regular.ttf
# Needs pyftsubset, of fonttools. Hints are left out, for nothing that draws these uses them.
set -eu
cd "$(dirname "$0")"

# ASCII, Latin-1, Latin Extended-A, two more of Romanian, dashes, quotes, dots, narrow space, per mille, euro, minus, and what stands for what cannot be shown.
LETTERS=U+20-7E,U+A0-17F,U+218-21B,U+2010-2015,U+2018-201F,U+2020-2022,U+2026,U+202F,U+2030,U+2039,U+203A,U+20AC,U+2212,U+FFFD
# Arrows and comparisons, which the others lack.
SIGNS=U+2190-2195,U+21D0-21D4,U+221A,U+221E,U+2248,U+2260,U+2264,U+2265

subset() { # FROM TO CHARACTERS FEATURES
    pyftsubset "$1" --output-file="$2" --unicodes="$3" --layout-features="$4" --no-hinting --notdef-outline \
        --name-IDs=0,1,2,6,13,14,16,17 --name-languages=0x409 --drop-tables+=MATH,STAT,gasp
}

subset "$1" regular.ttf "$LETTERS" kern
subset "$2" semibold.ttf "$LETTERS" kern
subset "$3" signs.ttf "$SIGNS" ''
ls -l ./*.ttf
