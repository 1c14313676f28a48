package packager

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Component holds the properties of a component by which releases are compared. Digests are
// shortened: they only distinguish versions of the same component.
type Component struct {
	Node       string            `yaml:"node"`
	Files      string            `yaml:"files"`                // a digest of its files in the image
	Settings   string            `yaml:"settings,omitempty"`   // a digest of its settings in toskose.yml
	Requires   string            `yaml:"requires,omitempty"`   // a digest of its host, connections and dependencies
	Task       string            `yaml:"task,omitempty"`       // a digest of how often its Task is run
	Initial    string            `yaml:"initial"`              // its initial state
	States     []string          `yaml:"states,flow"`          //
	Moves      []string          `yaml:"transitions"`          // of its protocol, as a text each
	Operations map[string]string `yaml:"operations,omitempty"` // a digest of each that has a script: the script's path, its inputs and limits
}

// describe lists the components in the plan, so that releases can be compared.
func (p *planner) describe() {
	p.plan.Components = map[string]Component{}
	for _, c := range p.public().Components {
		one := Component{Node: c.Node, Initial: c.Protocol.Initial, States: c.Protocol.StateNames(), Operations: map[string]string{}}
		if i := slices.IndexFunc(p.plan.Images, func(i Image) bool { return i.Node == c.Node }); i >= 0 {
			files, err := filesDigest(p.archive, p.plan.Images[i].Files, c.Name)
			if err != nil {
				p.report("component %q: %w", c.Name, err)
			}
			one.Files = files
		}
		one.Settings = digestOf(p.plan.Config.Nodes[c.Node].Components[c.Name])
		one.Requires = digestOf([]any{c.Host, c.Connections, c.Depends, c.Named, c.Endpoint})
		if c.Task != nil {
			one.Task = digestOf(c.Task)
		}
		for _, t := range c.Protocol.Transitions {
			one.Moves = append(one.Moves, t.String())
		}
		for _, h := range c.Protocol.FaultHandlers {
			one.Moves = append(one.Moves, h.Source+" -> "+h.Target+" by a fault")
		}
		for _, f := range c.Protocol.Free {
			one.Moves = append(one.Moves, f.String()+" in "+strings.Join(f.States, ", "))
		}
		slices.Sort(one.Moves)
		for name, o := range c.Operations() {
			if o.Script != "" {
				one.Operations[name.String()] = digestOf(o)
			}
		}
		p.plan.Components[c.Name] = one
	}
}

// filesDigest returns a digest of the component's files, selected from the sorted files of its
// image.
func filesDigest(archive fs.FS, files []File, component string) (string, error) {
	sum, below := sha256.New(), appPath(component, "")
	for _, f := range files {
		if f.Dir || !strings.HasPrefix(f.Path, below+"/") {
			continue
		}
		fmt.Fprintf(sum, "%q %o %q %d\n", f.Path, f.Mode, f.Data, len(f.Source))
		if f.Source == "" {
			continue
		}
		if err := copyFrom(sum, archive, f.Source); err != nil {
			return "", err
		}
	}
	return short(sum.Sum(nil)), nil
}

func copyFrom(w io.Writer, archive fs.FS, name string) error {
	f, err := archive.Open(name)
	if err != nil {
		return notInArchive(err)
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// digestOf returns a digest of a value's JSON.
func digestOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a plan is plain data, which can always be encoded
	}
	sum := sha256.Sum256(data)
	return short(sum[:])
}

func short(sum []byte) string { return hex.EncodeToString(sum[:6]) }
