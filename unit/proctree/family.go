package proctree

import (
	"os"
	"strconv"
	"strings"
)

// Recognise remembers the processes that a program's process forked, and those
// that they forked in turn, as the program's, unless they have another's mark.
// Call it before that process is signalled: once it has ended, nothing may be
// left that tells whose they are.
func (t *Tree) Recognise(program Program, pid int) error {
	first, err := t.proc.children(pid)
	if err != nil { // a kernel that does not show them (without CONFIG_PROC_CHILDREN)
		_, err = t.look(nil)
		return err
	}
	for next := first; len(next) > 0; next = next[1:] {
		e := t.read(next[0])
		if e == nil {
			continue
		}
		if e.program = t.byMark(&e.stat); e.program == Unclaimed {
			e.program = program
		}
		if e.program != program {
			continue
		}
		t.memory.recognise(e)
		if children, err := t.proc.children(e.pid); err == nil { // else it has ended
			next = append(next, children...)
		}
	}
	return nil
}

// children lists the children of a process, of all its threads.
func (p procfs) children(pid int) ([]int, error) {
	folder := p.root + "/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var children []int
	for _, thread := range threads {
		text, err := os.ReadFile(folder + "/" + thread.Name() + "/children")
		if err != nil {
			return nil, err
		}
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				return nil, err
			}
			children = append(children, child)
		}
	}
	return children, nil
}
