// Package machine configures a machine for its cluster by a node file, and removes that configuration: the machine's address, the
// configuration of k3s, and bridges of networks. It starts no goroutine.
package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/edge"
)

// Network are the addresses of the machine's network interfaces.
type Network interface {
	// Addresses returns the addresses by interface; an interface without any is in the map.
	Addresses() (map[string][]netip.Prefix, error)
	// Set adds an address to an interface, and sets the interface up.
	Set(ctx context.Context, name string, address netip.Prefix) error
	Remove(ctx context.Context, name string, address netip.Prefix) error
}

// Options describe the machine.
type Options struct {
	Root     string // folder of the machine's files; usually /
	Key      string // path of the machine's key, from Root
	Hostname string
	Network  Network
	IP       string // path of the command ip

	Force    bool // the name of the machine may differ
	Timeout  time.Duration
	Interval time.Duration // between two attempts to reach the seed
	Dial     func(ctx context.Context, address string) error
	Start    func(ctx context.Context) error // starts k3s; nil: the user does
	Say      func(format string, args ...any)

	afterStep func(step string) // for tests
}

// DefaultKey is the path of a machine's key.
const DefaultKey = "/etc/toskose/cluster.key"

// Result is the result of a join.
type Result struct {
	Changed []string // files and addresses
	Current bool     // k3s runs with this configuration
	Restart bool     // k3s runs with an earlier configuration
	Rotate  bool     // and with an earlier token
}

// Join configures the machine by a node file. It applies everything or, after an error, nothing; if it is killed, joining again completes it.
func Join(ctx context.Context, data []byte, o Options) (edge.NodeFile, Result, error) {
	f, err := edge.ParseNodeFile(data)
	if err != nil {
		return f, Result{}, err
	}
	rec, err := o.readRecord()
	if err != nil {
		return f, Result{}, err
	}
	token, err := o.check(f, rec)
	if err != nil {
		return f, Result{}, err
	}
	p, err := o.plan(f, token, rec)
	if err != nil {
		return f, Result{}, err
	}
	changed := p.names()
	if len(changed) > 0 || rec.Pending != nil || rec.Applied == nil || rec.Applied.File.Revision != f.Revision {
		if rec, err = o.apply(ctx, p, rec); err != nil {
			return f, Result{}, err
		}
	}
	rec, err = o.start(ctx, f, rec)
	return f, Result{changed, rec.Current, rec.Started && !rec.Current, rec.Rotate}, err
}

// start starts k3s, unless it runs with the current configuration.
func (o Options) start(ctx context.Context, f edge.NodeFile, rec record) (record, error) {
	if rec.Current {
		return rec, nil
	}
	if !f.IsSeed() {
		if err := o.waitForSeed(ctx, f.Cluster.Server); err != nil {
			return rec, err
		}
	}
	if o.Start == nil {
		return rec, nil
	}
	if err := o.Start(ctx); err != nil {
		return rec, fmt.Errorf("the machine is configured, but k3s did not start: %w", err)
	}
	rec.Started, rec.Current, rec.Rotate = true, true, false
	return rec, o.writeRecord(rec)
}

// check checks everything that can be checked before a change, and returns the token.
func (o Options) check(f edge.NodeFile, rec record) (string, error) {
	for _, before := range []*state{rec.Applied, rec.Pending} {
		if err := checkFollows(f, before); err != nil {
			return "", err
		}
	}
	token, err := o.decrypt(f)
	if err != nil {
		return "", err
	}
	name, _, _ := strings.Cut(strings.ToLower(o.Hostname), ".")
	if name != f.Name && !o.Force {
		return "", fmt.Errorf("this machine is %q, and the file is for %q: --force ignores the difference", name, f.Name)
	}
	if before := rec.Applied; before != nil && before.File.Revision == f.Revision && (!same(before.File, f) || before.Token != digest(token)) {
		return "", fmt.Errorf("revision %d of the cluster %s is applied already, and this file of the same revision differs: any change of the cluster gives a newer one", f.Revision, f.Cluster.Name)
	}
	return token, o.checkNetwork(f, rec)
}

// checkFollows returns an error if a file cannot follow the one that the machine joined with.
func checkFollows(f edge.NodeFile, before *state) error {
	switch {
	case before == nil:
		return nil
	case before.File.Cluster.ID != f.Cluster.ID:
		return fmt.Errorf("this machine belongs to the cluster %s (%s), and the file is of %s (%s): `toskose cluster leave` first",
			before.File.Cluster.Name, before.File.Cluster.ID, f.Cluster.Name, f.Cluster.ID)
	case before.File.ID != f.ID:
		return fmt.Errorf("this machine has joined as %q, and the file is for %q: `toskose cluster leave` first", before.File.Name, f.Name)
	case before.File.Revision > f.Revision:
		return fmt.Errorf("this machine has revision %d of the cluster %s, and the file has the older revision %d", before.File.Revision, f.Cluster.Name, f.Revision)
	}
	return nil
}

// same reports whether two files of the same revision mean the same. Encryption is random.
func same(a, b edge.NodeFile) bool {
	a.Cluster.EncryptedToken, b.Cluster.EncryptedToken = "", ""
	return string(a.Encode()) == string(b.Encode())
}

// checkNetwork returns an error if the address cannot be set on the interface.
func (o Options) checkNetwork(f edge.NodeFile, rec record) error {
	all, err := o.Network.Addresses()
	if err != nil {
		return fmt.Errorf("cannot read the addresses of this machine: %w", err)
	}
	wanted := f.Address()
	if _, ok := all[f.Cluster.Interface]; !ok {
		return fmt.Errorf("this machine has no network interface %s", f.Cluster.Interface)
	}
	own := rec.addresses()
	for name, addresses := range all {
		for _, a := range addresses {
			switch {
			case !a.Masked().Overlaps(wanted.Masked()) || slices.Contains(own, bound{name, a}):
			case name != f.Cluster.Interface:
				return fmt.Errorf("the interface %s has %s, which overlaps the cluster's prefix %s on %s", name, a, wanted.Masked(), f.Cluster.Interface)
			case a != wanted:
				return fmt.Errorf("the interface %s already has %s in the cluster's prefix: its address is to be %s", name, a, wanted)
			}
		}
	}
	return nil
}

// waitForSeed waits until the seed accepts connections.
func (o Options) waitForSeed(ctx context.Context, server string) error {
	address := fmt.Sprintf("%s:%d", server, edge.APIPort)
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("no connection in %s", o.Timeout))
	defer cancel()
	for said := false; ; said = true {
		err := o.Dial(ctx, address)
		if err == nil {
			return nil
		}
		if !said {
			o.Say("waiting for the seed at %s (at most %s): %v", address, o.Timeout, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the machine is configured, but the seed at %s does not respond: %w (%w); join again when the seed runs", address, context.Cause(ctx), err)
		case <-time.After(o.Interval):
		}
	}
}

// Leave removes everything that Join made. It reports false if there is nothing to remove.
func Leave(ctx context.Context, o Options) (edge.NodeFile, bool, error) {
	rec, err := o.readRecord()
	if err != nil {
		return edge.NodeFile{}, false, err
	}
	joined := rec.Applied
	if joined == nil {
		joined = rec.Pending
	}
	if joined == nil {
		return edge.NodeFile{}, false, nil
	}
	if err := o.removeAddresses(ctx, rec); err != nil {
		return joined.File, false, err
	}
	for _, path := range rec.paths() {
		o.step("remove " + path)
		for _, p := range []string{o.path(path), o.path(path) + stagedSuffix} {
			if err := remove(p); err != nil {
				return joined.File, false, err
			}
		}
	}
	o.step("remove the record")
	if err := errors.Join(remove(o.path(recordFile)+stagedSuffix), remove(o.path(recordFile))); err != nil {
		return joined.File, false, err
	}
	removeFolders(o.Root, rec.Folders)
	return joined.File, true, nil
}

func (o Options) removeAddresses(ctx context.Context, rec record) error {
	all, err := o.Network.Addresses()
	if err != nil {
		return fmt.Errorf("cannot read the addresses of this machine: %w", err)
	}
	for _, own := range rec.addresses() {
		if !own.isIn(all) {
			continue
		}
		o.step("remove " + own.String())
		if err := o.Network.Remove(ctx, own.Interface, own.Address); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) path(name string) string { return filepath.Join(o.Root, filepath.FromSlash(name)) }

// step is called after each step that changes the machine, before the next one.
func (o Options) step(name string) {
	if o.afterStep != nil {
		o.afterStep(name)
	}
}

// Joined returns the file that the machine has joined with.
func Joined(o Options) (edge.NodeFile, bool, error) {
	rec, err := o.readRecord()
	if err != nil || rec.Applied == nil {
		return edge.NodeFile{}, false, err
	}
	return rec.Applied.File, true, nil
}

// missing reports whether an error says that a file does not exist.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
