package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"hash"
	"sync"

	"github.com/toskose/toskose/manager/view"
)

// shown is the whole application as it was answered last. Of very many replicas most
// are as they were, and are not encoded again: what shows them is made anew where they
// change, and never changed.
type shown struct {
	mu    sync.Mutex
	of    *view.Node // the first of what was answered
	last  *encoded
	parts map[any]*part // by the first of their replicas
}

// encoded is JSON with its entity tag.
type encoded struct {
	data []byte
	tag  string
}

// part is JSON of a node or a component, with its hash.
type part struct {
	data []byte
	sum  [sha256.Size]byte
}

// encode returns the application as JSON.
func (s *shown) encode(app view.App) *encoded {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(app.Nodes) > 0 && s.of == &app.Nodes[0] {
		return s.last
	}
	nodes, components, parts, sum := app.Nodes, app.Components, map[any]*part{}, sha256.New()
	app.Nodes, app.Components = nil, nil
	_, frame := encode("", app)
	sum.Write(frame)
	var data bytes.Buffer
	rest := beside(&data, frame, `"nodes"`)
	array(s.parts, parts, &data, sum, nodes, func(n *view.Node) any { return first(n.Replicas) })
	rest = beside(&data, rest, `"components"`)
	array(s.parts, parts, &data, sum, components, func(c *view.Component) any { return first(c.Replicas) })
	data.Write(rest)
	made := &encoded{data.Bytes(), tagOf([sha256.Size]byte(sum.Sum(nil)))}
	if s.of, s.last, s.parts = nil, made, parts; len(nodes) > 0 {
		s.of = &nodes[0]
	}
	return made
}

// beside writes what comes before the null of a key at the outermost level, and returns
// what comes after it.
func beside(to *bytes.Buffer, frame []byte, key string) []byte {
	before, after, _ := bytes.Cut(frame, []byte("\n  "+key+": null"))
	to.Write(before)
	to.WriteString("\n  " + key + ": ")
	return after
}

// first identifies a list; nil: it is empty, as others are.
func first[T any](all []T) any {
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}

// array writes a list at the outermost level, of parts that there are and others that it makes.
func array[T any](known, kept map[any]*part, to *bytes.Buffer, sum hash.Hash, all []T, key func(*T) any) {
	for i := range all {
		id := key(&all[i])
		p := known[id]
		if p == nil || id == nil {
			data, err := json.MarshalIndent(all[i], "    ", "  ")
			if err != nil {
				panic(err) // recovered, logged and answered as our mistake
			}
			p = &part{data, sha256.Sum256(data)}
		}
		kept[id] = p
		sum.Write(p.sum[:])
		to.WriteString(map[bool]string{true: "[", false: ","}[i == 0] + "\n    ")
		to.Write(p.data)
	}
	if len(all) == 0 {
		to.WriteString("[]")
		return
	}
	to.WriteString("\n  ]")
}
