package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/toskose/toskose/edge"
)

// Paths of the files that join makes. Package edge has the paths of k3s.
const (
	recordFile = "/var/lib/toskose/cluster/joined.json"
	unitFile   = "/etc/systemd/system/toskose-cluster.service"
	unitLink   = "/etc/systemd/system/multi-user.target.wants/toskose-cluster.service"
	networkDir = "/etc/cni/multus/net.d"
)

// file is a file of the machine; without data it is removed, and with a target it is a link.
type file struct {
	path   string
	data   []byte
	target string
	mode   fs.FileMode
}

// plan is a change of the machine.
type plan struct {
	next    state
	changes []file // what differs
	set     bool   // the address has to be set
	old     []bound
	restart bool // k3s reads one of the changed files
	rotate  bool
}

// address is the machine's address in the cluster.
func (p plan) address() bound { return bound{p.next.File.Cluster.Interface, p.next.File.Address()} }

// names returns the files and addresses that the plan changes.
func (p plan) names() []string {
	var all []string
	for _, f := range p.changes {
		all = append(all, f.path)
	}
	if p.set {
		all = append(all, p.address().String())
	}
	for _, a := range p.old {
		all = append(all, a.String()+" (removed)")
	}
	return all
}

// wanted returns the files of a configuration, with the token before the token's file is replaced.
func (o Options) wanted(f edge.NodeFile, token string) ([]file, error) {
	config, err := f.K3s()
	if err != nil {
		return nil, err
	}
	files := []file{
		{path: edge.K3sToken, data: []byte(token + "\n"), mode: 0o600},
		{path: edge.K3sConfig, data: config, mode: 0o600},
	}
	for _, n := range f.Networks {
		files = append(files, file{path: path.Join(networkDir, n.Name+".conf"), data: n.Bridge(), mode: 0o644})
	}
	files = append(files, file{path: unitFile, data: o.unit(f), mode: 0o644}, file{path: unitLink, target: unitFile})
	before, err := os.ReadFile(o.path(edge.K3sToken))
	switch {
	case err == nil && secretOf(string(before)) != secretOf(token):
		files = append([]file{{path: edge.K3sTokenOld, data: before, mode: 0o600}}, files...)
	case err == nil:
		if before, err = os.ReadFile(o.path(edge.K3sTokenOld)); err == nil {
			files = append(files, file{path: edge.K3sTokenOld, data: before, mode: 0o600})
		}
	}
	return files, nil
}

// unit returns the systemd unit that sets the address when the machine boots, before k3s starts.
func (o Options) unit(f edge.NodeFile) []byte {
	device := f.Cluster.Interface
	return fmt.Appendf(nil, `# Made by toskose cluster join.
[Unit]
Description=Address of %s in the cluster %s
After=network-pre.target sys-subsystem-net-devices-%s.device
Wants=sys-subsystem-net-devices-%s.device
Before=k3s.service k3s-agent.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=%s link set dev %s up
ExecStart=%s address replace %s dev %s

[Install]
WantedBy=multi-user.target
`, f.Name, f.Cluster.Name, escapeUnit(device), escapeUnit(device), o.IP, device, o.IP, f.Cluster.Prefix, device)
}

// escapeUnit escapes a name as systemd does in the names of units.
func escapeUnit(name string) string {
	var out bytes.Buffer
	for _, c := range []byte(name) {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '.' || c == ':' {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, `\x%02x`, c)
		}
	}
	return out.String()
}

// plan compares the machine with a configuration.
func (o Options) plan(f edge.NodeFile, token string, rec record) (plan, error) {
	files, err := o.wanted(f, token)
	if err != nil {
		return plan{}, err
	}
	p := plan{next: state{File: f, Token: digest(token)}}
	own := rec.paths()
	for _, one := range files {
		p.next.Paths = append(p.next.Paths, one.path)
		same, exists, err := o.compare(one)
		if err != nil {
			return plan{}, err
		}
		if exists && !slices.Contains(own, one.path) {
			return plan{}, fmt.Errorf("%s exists, and join did not make it: move it away first", o.path(one.path))
		}
		if !same {
			p.changes = append(p.changes, one)
			p.restart = p.restart || one.path == edge.K3sConfig
		}
	}
	for _, name := range own {
		if _, err := os.Lstat(o.path(name)); err == nil && !slices.Contains(p.next.Paths, name) {
			p.changes = append(p.changes, file{path: name})
		}
	}
	slices.Sort(p.next.Paths)
	if before, err := os.ReadFile(o.path(edge.K3sToken)); err == nil && secretOf(string(before)) != secretOf(token) {
		p.rotate, p.restart = true, true
	}
	return p, o.planAddress(&p, rec)
}

func (o Options) planAddress(p *plan, rec record) error {
	all, err := o.Network.Addresses()
	if err != nil {
		return fmt.Errorf("cannot read the addresses of this machine: %w", err)
	}
	p.next.Addresses = []bound{p.address()}
	p.set = !p.address().isIn(all)
	for _, own := range rec.addresses() {
		if own != p.address() && own.isIn(all) {
			p.old = append(p.old, own)
		}
	}
	return nil
}

// compare reports whether the machine has a file, and whether there is anything at its path.
func (o Options) compare(f file) (same, exists bool, err error) {
	info, err := os.Lstat(o.path(f.path))
	if missing(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	if f.target != "" {
		target, err := os.Readlink(o.path(f.path))
		return err == nil && target == f.target, true, nil
	}
	data, err := os.ReadFile(o.path(f.path))
	if err != nil {
		return false, true, err
	}
	return info.Mode().IsRegular() && info.Mode().Perm() == f.mode && bytes.Equal(data, f.data), true, nil
}

// apply changes the machine, and undoes its changes if a step fails.
func (o Options) apply(ctx context.Context, p plan, before record) (done record, err error) {
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for _, f := range slices.Backward(undo) {
			err = errors.Join(err, f())
		}
	}()
	next := before.pending(p.next, o.missingFolders(p))
	next.Current = before.Current && !p.restart
	next.Rotate = before.Rotate || p.rotate && before.Started
	undo = append(undo, func() error { return o.restoreRecord(before, next.Folders) })
	if err := o.writeRecord(next); err != nil {
		return before, err
	}
	o.step("record")
	for _, f := range p.changes {
		back, err := o.change(f)
		if back != nil {
			undo = append(undo, back)
		}
		if err != nil {
			return before, fmt.Errorf("cannot write %s: %w", o.path(f.path), err)
		}
		o.step(f.path)
	}
	if err := o.applyAddress(ctx, p, &undo); err != nil {
		return before, err
	}
	done = next
	done.Applied, done.Pending = &p.next, nil
	if err := o.writeRecord(done); err != nil {
		return before, err
	}
	return done, nil
}

// restoreRecord writes the record before a change that failed, or removes it with the folders that were made for it.
func (o Options) restoreRecord(before record, folders []string) error {
	if before.Applied == nil && before.Pending == nil {
		err := remove(o.path(recordFile))
		removeFolders(o.Root, folders)
		return err
	}
	return o.writeRecord(before)
}

func (o Options) applyAddress(ctx context.Context, p plan, undo *[]func() error) error {
	unstopped := context.WithoutCancel(ctx)
	for _, a := range p.old {
		if err := o.Network.Remove(ctx, a.Interface, a.Address); err != nil {
			return err
		}
		*undo = append(*undo, func() error { return o.Network.Set(unstopped, a.Interface, a.Address) })
		o.step("remove " + a.String())
	}
	if a := p.address(); p.set {
		if err := o.Network.Set(ctx, a.Interface, a.Address); err != nil {
			return err
		}
		*undo = append(*undo, func() error { return o.Network.Remove(unstopped, a.Interface, a.Address) })
		o.step("set " + a.String())
	}
	return nil
}

// change writes or removes a file, and returns how to undo that.
func (o Options) change(f file) (undo func() error, err error) {
	name := o.path(f.path)
	undo = func() error { return remove(name) }
	if info, err := os.Lstat(name); err == nil {
		if target, err := os.Readlink(name); err == nil {
			undo = func() error { return link(target, name) }
		} else {
			data, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			undo = func() error { return writeFile(name, data, info.Mode().Perm()) }
		}
	}
	switch {
	case f.target != "":
		return undo, link(f.target, name)
	case f.data != nil:
		return undo, writeFile(name, f.data, f.mode)
	default:
		return undo, remove(name)
	}
}

// missingFolders returns the folders that a plan makes, from the root.
func (o Options) missingFolders(p plan) []string {
	var all []string
	for _, name := range append(slices.Clone(p.next.Paths), recordFile) {
		for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
			if _, err := os.Lstat(o.path(dir)); missing(err) {
				all = append(all, dir)
			}
		}
	}
	return all
}

// removeFolders removes those folders that are empty, the innermost first.
func removeFolders(root string, folders []string) {
	for _, dir := range slices.Backward(slices.Sorted(slices.Values(folders))) {
		_ = os.Remove(filepath.Join(root, filepath.FromSlash(dir))) // it may have other files
	}
}
