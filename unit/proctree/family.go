package proctree

import (
	"io/fs"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Recognise records all descendants of a program's process as the program's, unless they have the
// mark of another program of its component. Call it before signalling that process: after it has
// ended, nothing may identify its descendants.
func (t *Tree) Recognise(program Program, pid int) error {
	if t.childless() {
		return nil
	}
	first, err := t.proc.children(pid)
	if err != nil { // the kernel has no such file (CONFIG_PROC_CHILDREN)
		_, err = t.look(nil)
		return err
	}
	for next := first; len(next) > 0; next = next[1:] {
		e := t.read(next[0])
		if e == nil {
			continue
		}
		e.program = t.byMark(&e.stat)
		if e.program == Unclaimed || !t.sameComponent(e.program, program) {
			e.program = program // a mark of another component is a copy
		}
		if e.program != program {
			continue
		}
		t.memory.remember(e)
		if children, err := t.proc.children(e.pid); err == nil { // else it has ended
			next = append(next, children...)
		}
	}
	return nil
}

// children lists the children of all threads of a process. A child or thread that ends during the
// reading may hide another child. So the list is read until two readings agree.
func (p procfs) children(pid int) (children []int, err error) {
	const readings = 5 // for a process that forks continuously
	for i := range readings {
		before := children
		threads := 0
		if children, threads, err = p.childrenNow(pid); err != nil || threads == 1 && len(children) == 0 {
			break
		}
		if i > 0 && slices.Equal(before, children) {
			break
		}
	}
	return children, err
}

func (p procfs) childrenNow(pid int) (children []int, many int, err error) {
	folder := p.root + "/" + strconv.Itoa(pid) + "/task"
	var s unix.Stat_t
	if err := unix.Lstat(folder, &s); err != nil {
		return nil, 0, &fs.PathError{Op: "stat", Path: folder, Err: err}
	}
	const links = 2 // of a folder without subfolders
	threads := []int{pid}
	if s.Nlink != links+1 {
		threads, err = numbers(folder)
	}
	for i := 0; err == nil && i < len(threads); i++ {
		children, err = readNumbers(folder+"/"+strconv.Itoa(threads[i])+"/children", children)
	}
	return children, len(threads), err
}
