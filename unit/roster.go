package unit

import (
	"fmt"
	"slices"
	"sync"

	"github.com/toskose/toskose/unit/proctree"
)

// roster knows whose the numbers in the marks of processes are. A name keeps its
// number as long as the unit lives, also when a reload removes it or puts
// another program in its place: processes that bear the mark may be there still.
type roster struct {
	mu       sync.Mutex
	numbers  map[string]proctree.Program // by "group:process"
	byNumber []*program                  // by number - 1: the latest of the name; nil: never came into use
}

// number gives the number of a name, a new one to a new name.
func (r *roster) number(name string) (proctree.Program, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number, ok := r.numbers[name]; ok {
		return number, nil
	}
	number := proctree.Program(len(r.byNumber) + 1)
	if number > proctree.MaxProgram/2 { // the other half marks their checks
		return 0, fmt.Errorf("cannot supervise more than %d processes", proctree.MaxProgram/2)
	}
	if r.numbers == nil {
		r.numbers = map[string]proctree.Program{}
	}
	r.numbers[name] = number
	r.byNumber = append(r.byNumber, nil)
	return number, nil
}

// enlist makes programs the ones that their numbers stand for.
func (r *roster) enlist(programs []*program) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range programs {
		r.byNumber[p.number-1] = p
	}
}

// owner gives the program of a number, nil for what no mark claims. It may be
// one that a reload has removed.
func (r *roster) owner(number proctree.Program) *program {
	r.mu.Lock()
	defer r.mu.Unlock()
	number = markedFor(number)
	if number == proctree.Unclaimed || int(number) > len(r.byNumber) {
		return nil
	}
	return r.byNumber[number-1]
}

// all gives every program that there ever was, by number.
func (r *roster) all() []*program {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.byNumber)
	return slices.DeleteFunc(all, func(p *program) bool { return p == nil })
}
