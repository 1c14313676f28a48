#!/bin/sh
cat made
[ "$INPUT_TASK_INDEX" != "$INPUT_FAILING" ] || { echo "cannot count part $INPUT_TASK_INDEX"; exit 3; }
echo "part $INPUT_TASK_INDEX of $INPUT_TASK_COMPLETIONS"
