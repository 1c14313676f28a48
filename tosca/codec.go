package tosca

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/protocol"
)

// Encode writes an application as indented JSON. The same application gives
// the same bytes.
func Encode(app *Application) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(app); err != nil {
		return nil, fmt.Errorf("cannot encode application %q: %w", app.Name, err)
	}
	return diag.VisibleJSON(b.Bytes()), nil
}

// Decode reads what Encode wrote. Fields that it does not know are an error,
// since they would be lost, and so is a protocol that contradicts itself.
// Numbers in inputs are json.Number, as Load makes them.
func Decode(data []byte) (*Application, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	var app Application
	if err := dec.Decode(&app); err != nil {
		return nil, fmt.Errorf("cannot decode an application: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot decode application %q: there is something after it", app.Name)
	}
	if err := app.validate(); err != nil {
		return nil, fmt.Errorf("cannot decode application %q: %w", app.Name, err)
	}
	return &app, nil
}

func (a *Application) validate() error {
	var errs []error
	check := func(what, name string, p protocol.Protocol) {
		if err := p.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("protocol of %s %q: %w", what, name, err))
		}
	}
	nodes, hosts := map[string]bool{}, map[string]bool{}
	for _, n := range a.Nodes {
		nodes[n.Name], hosts[n.Name] = true, true
		check("node", n.Name, n.Protocol)
	}
	for _, m := range a.Components {
		hosts[m.Name] = true
		check("component", m.Name, m.Protocol)
	}
	for _, m := range a.Components {
		if !nodes[m.Node] || !hosts[m.Host] {
			errs = append(errs, fmt.Errorf("component %q is on node %q and host %q, which are not all there", m.Name, m.Node, m.Host))
		}
	}
	for _, v := range a.Volumes {
		check("volume", v.Name, v.Protocol)
	}
	return errors.Join(errs...)
}
