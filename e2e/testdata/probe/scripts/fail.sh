#!/bin/sh
i=0
while [ $i -lt 2000 ]; do
	i=$((i + 1))
	echo "line $i, which is not the end"
done
echo "the last words" >&2
exit 7
