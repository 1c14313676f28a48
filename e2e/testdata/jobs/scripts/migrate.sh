#!/bin/sh
echo tried >>/data/ran
[ "$(wc -l </data/ran)" -gt 4 ]
