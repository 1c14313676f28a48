package machine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"slices"

	"github.com/toskose/toskose/edge"
)

// record is the configuration that the machine has joined with. It is written before a change and after it.
type record struct {
	Applied *state   `json:"applied,omitempty"`
	Pending *state   `json:"pending,omitempty"` // a change that was begun
	Folders []string `json:"folders,omitempty"` // that join made
	Started bool     `json:"started,omitempty"`
	Current bool     `json:"current,omitempty"` // k3s was started with the applied configuration
	Rotate  bool     `json:"rotate,omitempty"`  // the token has changed since k3s was started
}

// state is a configuration of the machine.
type state struct {
	File      edge.NodeFile `json:"file"`
	Token     string        `json:"token_digest"`
	Paths     []string      `json:"paths"`
	Addresses []bound       `json:"addresses"`
}

// bound is an address of an interface.
type bound struct {
	Interface string       `json:"interface"`
	Address   netip.Prefix `json:"address"`
}

func (b bound) String() string { return fmt.Sprintf("%s on %s", b.Address, b.Interface) }

// isIn reports whether an interface has the address.
func (b bound) isIn(all map[string][]netip.Prefix) bool {
	return slices.Contains(all[b.Interface], b.Address)
}

func (o Options) readRecord() (record, error) {
	var rec record
	data, err := os.ReadFile(o.path(recordFile))
	if missing(err) {
		return record{}, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &rec)
	}
	if err != nil {
		return record{}, fmt.Errorf("cannot read the record of the last join: %w", err)
	}
	return rec, nil
}

func (o Options) writeRecord(rec record) error {
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	if err := writeFile(o.path(recordFile), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("cannot write the record of this join: %w", err)
	}
	return nil
}

// addresses returns the addresses that join has set or was about to set.
func (rec record) addresses() []bound {
	var all []bound
	for _, s := range []*state{rec.Applied, rec.Pending} {
		if s != nil {
			all = append(all, s.Addresses...)
		}
	}
	slices.SortFunc(all, func(a, b bound) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

// paths returns the files that join has made or was about to make, sorted.
func (rec record) paths() []string {
	var all []string
	for _, s := range []*state{rec.Applied, rec.Pending} {
		if s != nil {
			all = append(all, s.Paths...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// pending returns the record of a change that begins. It keeps the paths and addresses of an interrupted change.
func (rec record) pending(next state, folders []string) record {
	next.Paths, next.Addresses = slices.Clone(next.Paths), slices.Clone(next.Addresses)
	if rec.Pending != nil {
		next.Paths = append(next.Paths, rec.Pending.Paths...)
		next.Addresses = append(next.Addresses, rec.Pending.Addresses...)
	}
	rec.Pending = &next
	all := append(slices.Clone(rec.Folders), folders...)
	slices.Sort(all)
	rec.Folders = slices.Compact(all)
	return rec
}
