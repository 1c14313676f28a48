// Package series keeps numbers of components over time in memory, in rings of fixed size.
package series

import (
	"math"
	"slices"
	"sync"
	"time"
)

// The defaults: one hour.
const (
	Interval = 15 * time.Second
	Length   = 240 // samples
)

// Value is the current state of a component.
type Value struct {
	Component string
	State     string
	Restarts  int
	Processes int
	CPU       float64 // seconds that its processes have used
	Memory    int64   // bytes
}

// point is a sample of a component. Its size bounds the size of a ring.
type point struct {
	cpu      float32 // percent of one CPU; NaN: unknown
	memory   uint32  // KiB
	restarts uint16
	state    uint8 // index into Series.states; 0: the component was not sampled
}

// ring holds the last samples of a component, by the number of their tick.
type ring struct {
	points [Length]point
	last   Value
	at     time.Time // of last
	tick   int       // of last
}

// Series holds the last samples of all components. Its methods are safe for concurrent use.
type Series struct {
	mu     sync.RWMutex
	ticks  int // samples so far
	times  [Length]time.Time
	rings  map[string]*ring
	states []string
}

// New returns an empty Series.
func New() *Series { return &Series{rings: map[string]*ring{}, states: []string{""}} }

// Add adds a sample of all components. It forgets components that were not in any of the last Length samples.
func (s *Series) Add(at time.Time, all []Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := s.ticks % Length
	s.times[slot] = at
	for _, r := range s.rings {
		r.points[slot] = point{}
	}
	for _, v := range all {
		r := s.rings[v.Component]
		if r == nil {
			r = &ring{tick: -1}
			s.rings[v.Component] = r
		}
		r.points[slot] = r.next(v, at, s.state(v.State))
		r.last, r.at, r.tick = v, at, s.ticks
	}
	s.ticks++
	for name, r := range s.rings {
		if r.tick <= s.ticks-Length {
			delete(s.rings, name)
		}
	}
}

// next returns the sample of a value.
func (r *ring) next(v Value, at time.Time, state uint8) point {
	p := point{
		cpu: float32(math.NaN()), state: state,
		memory: uint32(min(v.Memory/1024, math.MaxUint32)), restarts: uint16(min(v.Restarts, math.MaxUint16)),
	}
	if took := at.Sub(r.at).Seconds(); v.Processes > 0 && r.last.Processes > 0 && v.CPU >= r.last.CPU && took > 0 {
		p.cpu = float32(100 * (v.CPU - r.last.CPU) / took)
	}
	return p
}

// state returns the index of a state's name. Applications have few: a 256th is counted as the first.
func (s *Series) state(name string) uint8 {
	i := slices.Index(s.states[1:], name) + 1
	if i == 0 {
		if len(s.states) > math.MaxUint8 {
			return 1
		}
		i = len(s.states)
		s.states = append(s.states, name)
	}
	return uint8(i)
}

// Window is a part of the samples, oldest first.
type Window struct {
	At         []time.Time `json:"at"`    // the time of each sample
	Total      Numbers     `json:"total"` // of all components
	Components []Component `json:"components,omitempty"`
}

// Numbers has a number for each time of a Window; null: unknown.
type Numbers struct {
	CPU      []*float64 `json:"cpu_percent"`  // of one CPU
	Memory   []*int64   `json:"memory_bytes"` // resident sets
	Restarts []*int     `json:"restarts"`     // after unexpected ends
}

// Component is the samples of a component.
type Component struct {
	Name string `json:"name"`
	Numbers
	States []string `json:"states"` // empty: unknown
}

// Since returns the samples that are not older than a time: the totals, and those of the components for which wanted
// returns true.
func (s *Series) Since(from time.Time, wanted func(component string) bool) Window {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w := Window{At: []time.Time{}}
	first := s.ticks
	for first > max(0, s.ticks-Length) && !s.times[(first-1)%Length].Before(from) {
		first--
	}
	for tick := first; tick < s.ticks; tick++ {
		w.At = append(w.At, s.times[tick%Length])
	}
	w.Total = s.total(first)
	for name, r := range s.rings {
		if wanted(name) {
			w.Components = append(w.Components, s.component(name, r, first))
		}
	}
	slices.SortFunc(w.Components, func(a, b Component) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return w
}

func (s *Series) component(name string, r *ring, first int) Component {
	c := Component{Name: name, Numbers: numbers(s.ticks - first), States: make([]string, s.ticks-first)}
	for i := range c.States {
		c.add(i, r.points[(first+i)%Length])
		c.States[i] = s.states[r.points[(first+i)%Length].state]
	}
	return c
}

func (s *Series) total(first int) Numbers {
	all := numbers(s.ticks - first)
	for i := range all.CPU {
		for _, r := range s.rings {
			all.add(i, r.points[(first+i)%Length])
		}
	}
	return all
}

func numbers(n int) Numbers {
	return Numbers{CPU: make([]*float64, n), Memory: make([]*int64, n), Restarts: make([]*int, n)}
}

// add adds a sample to the number at i.
func (n Numbers) add(i int, p point) {
	if p.state == 0 {
		return
	}
	if !math.IsNaN(float64(p.cpu)) {
		n.CPU[i] = plus(n.CPU[i], math.Round(float64(p.cpu)*100)/100)
	}
	n.Memory[i] = plus(n.Memory[i], int64(p.memory)*1024)
	n.Restarts[i] = plus(n.Restarts[i], int(p.restarts))
}

func plus[T int | int64 | float64](to *T, more T) *T {
	if to != nil {
		more += *to
	}
	return &more
}
