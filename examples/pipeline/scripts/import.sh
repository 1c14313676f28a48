#!/bin/sh
echo "part $INPUT_TASK_INDEX of $INPUT_TASK_COMPLETIONS"
sleep 0.3
if [ "$INPUT_TASK_INDEX" = 3 ]; then
	echo "$INPUT_TASK_INDEX" >>/tmp/attempts
	[ "$(wc -l </tmp/attempts)" -gt 2 ] || exit 1
fi
echo "$INPUT_TASK_INDEX" >>/tmp/ran
