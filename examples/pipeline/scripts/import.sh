#!/bin/sh
echo "part $INPUT_TASK_INDEX of $INPUT_TASK_COMPLETIONS"
sleep 0.3
echo "$INPUT_TASK_INDEX" >>/tmp/ran
