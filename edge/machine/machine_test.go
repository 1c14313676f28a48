package machine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/edge/folder"
	"github.com/toskose/toskose/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// wires is a network that fails on demand.
type wires struct {
	addresses map[string][]netip.Prefix
	fails     map[string]error // by the method
}

func newWires() *wires {
	return &wires{
		addresses: map[string][]netip.Prefix{"lo": {netip.MustParsePrefix("127.0.0.1/8")}, "eth0": {netip.MustParsePrefix("192.168.1.7/24")}, "eth1": nil},
		fails:     map[string]error{},
	}
}

func (w *wires) Addresses() (map[string][]netip.Prefix, error) {
	return maps.Clone(w.addresses), w.fails["Addresses"]
}

func (w *wires) Set(_ context.Context, name string, a netip.Prefix) error {
	if err := w.fails["Set"]; err != nil {
		return err
	}
	if !slices.Contains(w.addresses[name], a) {
		w.addresses[name] = append(slices.Clone(w.addresses[name]), a)
	}
	return nil
}

func (w *wires) Remove(_ context.Context, name string, a netip.Prefix) error {
	if err := w.fails["Remove"]; err != nil {
		return err
	}
	w.addresses[name] = slices.DeleteFunc(slices.Clone(w.addresses[name]), func(b netip.Prefix) bool { return a == b })
	return nil
}

// box is a machine of a cluster.
type box struct {
	Options
	site   string // the cluster's folder
	wires  *wires
	said   strings.Builder
	starts int
}

// newSite creates a cluster of three machines, with their keys.
func newSite(t *testing.T) (dir string, boxes map[string]*box) {
	t.Helper()
	boxes = map[string]*box{}
	o := edge.CreateOptions{Name: "factory-7", Interface: "eth1", Random: rand.Reader}
	dir = filepath.Join(t.TempDir(), "factory-7")
	for _, name := range []string{"edge-a", "edge-b", "edge-c"} {
		boxes[name] = newBox(t, dir, name)
		o.Servers = append(o.Servers, edge.Machine{Name: name, Key: boxes[name].key(t)})
	}
	d, err := edge.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Create(dir, d, rand.Reader); err != nil {
		t.Fatal(err)
	}
	return dir, boxes
}

func newBox(t *testing.T, site, name string) *box {
	t.Helper()
	b := &box{site: site, wires: newWires()}
	b.Options = Options{
		Root: t.TempDir(), Key: DefaultKey, Hostname: name + ".example.org", Network: b.wires, IP: "/sbin/ip", Timeout: time.Minute, Interval: time.Millisecond,
		Dial:  func(context.Context, string) error { return nil },
		Start: func(context.Context) error { b.starts++; return nil },
		Say:   func(format string, args ...any) { fmt.Fprintf(&b.said, format+"\n", args...) },
	}
	return b
}

func (b *box) key(t *testing.T) string {
	t.Helper()
	public, _, err := Key(b.path(b.Key))
	if err != nil {
		t.Fatal(err)
	}
	return public
}

func (b *box) file(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.site, "nodes", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (b *box) join(t *testing.T, name string) Result {
	t.Helper()
	_, r, err := Join(t.Context(), b.file(t, name), b.Options)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// state returns the files of the machine with modes and contents, and its addresses.
func (b *box) state(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"addresses": fmt.Sprint(b.wires.addresses)}
	err := filepath.WalkDir(b.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && path == b.Root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, b.Root)
		if target, err := os.Readlink(path); err == nil {
			all[name] = "-> " + target
			return nil
		}
		all[name] = info.Mode().String()
		if !d.IsDir() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[name] += "\n" + string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func change(t *testing.T, dir string, how func(edge.Document) (edge.Change, error)) {
	t.Helper()
	f, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := how(f.Document)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Apply(c, rand.Reader); err != nil {
		t.Fatal(err)
	}
}

// withCameras gives all machines a network.
func withCameras(d edge.Document) (edge.Change, error) {
	d.Networks = []edge.Network{{Name: "cameras", Prefix: edge.DifferentPrefixes, Base: "10.1.10.0/24", Applications: []edge.Application{{Name: "thinking"}}}}
	return edge.Refresh(d)
}

func withoutNetworks(d edge.Document) (edge.Change, error) {
	d.Networks = nil
	return edge.Refresh(d)
}

func TestAMachineJoinsWithItsFileAlone(t *testing.T) {
	t.Parallel()
	dir, boxes := newSite(t)
	change(t, dir, withCameras)
	token, err := os.ReadFile(filepath.Join(dir, "secrets", "token"))
	if err != nil {
		t.Fatal(err)
	}
	b := boxes["edge-b"]
	want := b.state(t)
	r := b.join(t, "edge-b")
	f, err := edge.ParseNodeFile(b.file(t, "edge-b"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := f.K3s()
	if err != nil {
		t.Fatal(err)
	}
	got := b.state(t)
	for name, content := range map[string]string{
		"addresses":                                               "map[eth0:[192.168.1.7/24] eth1:[10.244.244.2/28] lo:[127.0.0.1/8]]",
		"/etc/rancher/k3s/config.yaml":                            "-rw-------\n" + string(config),
		"/etc/rancher/k3s/cluster-token":                          "-rw-------\n" + string(token),
		"/etc/cni/multus/net.d/cameras.conf":                      "-rw-r--r--\n" + string(f.Networks[0].Bridge()),
		"/etc/systemd/system/" + unitName:                         "-rw-r--r--\n" + string(b.unit(f)),
		"/etc/systemd/system/multi-user.target.wants/" + unitName: "-> /etc/systemd/system/" + unitName,
	} {
		if got[name] != content {
			t.Errorf("%s is\n%s\nwant\n%s", name, got[name], content)
		}
	}
	for _, line := range []string{"Before=k3s.service k3s-agent.service", "ExecStart=/sbin/ip address replace 10.244.244.2/28 dev eth1", "WantedBy=multi-user.target"} {
		if !strings.Contains(got["/etc/systemd/system/"+unitName], "\n"+line+"\n") {
			t.Errorf("the unit has no %s", line)
		}
	}
	if !r.Current || b.starts != 1 || len(r.Changed) != 6 {
		t.Errorf("%+v, and k3s was started %d times", r, b.starts)
	}
	again := b.join(t, "edge-b")
	if diff := cmp.Diff(got, b.state(t)); diff != "" || b.starts != 1 || len(again.Changed) != 0 {
		t.Errorf("a second join: %+v, %d starts\n%s", again, b.starts, diff)
	}
	if f, left, err := Leave(t.Context(), b.Options); err != nil || !left || f.Name != "edge-b" {
		t.Fatalf("%+v, %v, %v", f, left, err)
	}
	if diff := cmp.Diff(want, b.state(t)); diff != "" {
		t.Errorf("leave does not leave the machine as it was:\n%s", diff)
	}
	if _, left, err := Leave(t.Context(), b.Options); err != nil || left {
		t.Errorf("a second leave: %v, %v", left, err)
	}
}

const unitName = "toskose-cluster.service"

func TestANewerFileChangesOnlyTheDifferences(t *testing.T) {
	t.Parallel()
	dir, boxes := newSite(t)
	b := boxes["edge-c"]
	b.join(t, "edge-c")
	old := b.file(t, "edge-c")
	type step struct {
		name    string
		change  func(edge.Document) (edge.Change, error)
		want    []string
		restart bool
		rotate  bool
	}
	steps := []step{
		{"nothing", edge.Refresh, nil, false, false},
		{"a network", withCameras, []string{"/etc/cni/multus/net.d/cameras.conf"}, false, false},
		{"no network", withoutNetworks, []string{"/etc/cni/multus/net.d/cameras.conf"}, false, false},
		{"another seed", func(d edge.Document) (edge.Change, error) { return edge.SetSeed(d, "edge-b") }, []string{edge.K3sConfig}, true, false},
		{"a machine leaves", func(d edge.Document) (edge.Change, error) { return edge.Remove(d, "edge-a", false) }, []string{edge.K3sTokenOld, edge.K3sToken}, true, true},
		{"the cluster is trusted", func(d edge.Document) (edge.Change, error) { return edge.Trust(d, strings.Repeat("0", 64)) }, []string{edge.K3sToken}, false, false},
	}
	start := b.Start
	for _, s := range steps {
		change(t, dir, s.change)
		b.Start = nil
		if r := b.join(t, "edge-c"); !slices.Equal(r.Changed, s.want) || r.Restart != s.restart || r.Rotate != s.rotate || r.Current == s.restart {
			t.Errorf("%s: %+v", s.name, r)
		}
		if r := b.join(t, "edge-c"); len(r.Changed) > 0 || r.Restart != s.restart {
			t.Errorf("%s, and again: %+v", s.name, r)
		}
		b.Start = start
		if r := b.join(t, "edge-c"); !r.Current || r.Restart {
			t.Errorf("%s, and started: %+v", s.name, r)
		}
	}
	if b.starts != 3 {
		t.Errorf("k3s was started %d times", b.starts)
	}
	before := b.state(t)
	if _, _, err := Join(t.Context(), old, b.Options); err == nil || !strings.Contains(err.Error(), "the older revision 1") {
		t.Errorf("an older file: %v", err)
	}
	if diff := cmp.Diff(before, b.state(t)); diff != "" {
		t.Error(diff)
	}
}

func TestAJoinIsRefused(t *testing.T) {
	t.Parallel()
	_, others := newSite(t)
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, b *box)
		file    string
		want    string
	}{
		"no file":                {nil, "none", "this is not a node file"},
		"another node's file":    {nil, "edge-a", "the token for \"edge-a\" was not encrypted to the key in"},
		"another cluster's file": {nil, "elsewhere", "the token for \"edge-b\" was not encrypted to the key in"},
		"no key":                 {func(_ *testing.T, b *box) { _ = os.Remove(b.path(b.Key)) }, "edge-b", "this machine has no key"},
		"a broken key":           {func(_ *testing.T, b *box) { _ = os.WriteFile(b.path(b.Key), []byte("AGE-SECRET-KEY-1"), 0o600) }, "edge-b", "is not the key of a machine"},
		"an empty key":           {func(_ *testing.T, b *box) { _ = os.WriteFile(b.path(b.Key), nil, 0o600) }, "edge-b", "it has no private key"},
		"another machine":        {func(_ *testing.T, b *box) { b.Hostname = "edge-9" }, "edge-b", `this machine is "edge-9", and the file is for "edge-b": --force`},
		"no interface":           {func(_ *testing.T, b *box) { delete(b.wires.addresses, "eth1") }, "edge-b", "this machine has no network interface eth1"},
		"the prefix elsewhere": {func(_ *testing.T, b *box) {
			b.wires.addresses["eth0"] = []netip.Prefix{netip.MustParsePrefix("10.244.0.1/16")}
		}, "edge-b", "the interface eth0 has 10.244.0.1/16, which overlaps the cluster's prefix 10.244.244.0/28 on eth1"},
		"another address": {func(_ *testing.T, b *box) {
			b.wires.addresses["eth1"] = []netip.Prefix{netip.MustParsePrefix("10.244.244.9/28")}
		}, "edge-b", "the interface eth1 already has 10.244.244.9/28"},
		"an unreadable network": {func(_ *testing.T, b *box) { b.wires.fails["Addresses"] = errors.New("no netlink") }, "edge-b", "cannot read the addresses of this machine: no netlink"},
		"k3s as it is": {func(t *testing.T, b *box) {
			if err := writeFile(b.path(edge.K3sConfig), []byte("server: x\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "edge-b", "config.yaml exists, and join did not make it"},
		"a broken record": {func(t *testing.T, b *box) {
			if err := writeFile(b.path(recordFile), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "edge-b", "cannot read the record of the last join"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, boxes := newSite(t)
			b := boxes["edge-b"]
			if tt.prepare != nil {
				tt.prepare(t, b)
			}
			data := []byte("hello")
			switch tt.file {
			case "none":
			case "elsewhere":
				data = others["edge-b"].file(t, "edge-b")
			default:
				data = b.file(t, tt.file)
			}
			before := b.state(t)
			if _, _, err := Join(t.Context(), data, b.Options); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if diff := cmp.Diff(before, b.state(t)); diff != "" || b.starts > 0 {
				t.Errorf("%d starts, and it has changed\n%s", b.starts, diff)
			}
		})
	}
}

func TestAMachineBelongsToOneCluster(t *testing.T) {
	t.Parallel()
	_, boxes := newSite(t)
	b := boxes["edge-b"]
	b.join(t, "edge-b")
	other := filepath.Join(t.TempDir(), "factory-8")
	d, err := edge.Create(edge.CreateOptions{Name: "factory-8", Interface: "eth1", Random: rand.Reader, Servers: []edge.Machine{{Name: "edge-b", Key: b.key(t)}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Create(other, d, rand.Reader); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(other, "nodes", "edge-b.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Join(t.Context(), data, b.Options); err == nil || !strings.Contains(err.Error(), "this machine belongs to the cluster factory-7") {
		t.Errorf("error %v", err)
	}
	data = b.file(t, "edge-b")
	changed := strings.Replace(string(data), `"labels": {}`, `"labels": {"GPU": "2"}`, 1)
	if _, _, err := Join(t.Context(), []byte(changed), b.Options); err == nil || !strings.Contains(err.Error(), "revision 1 of the cluster factory-7 is applied already") {
		t.Errorf("error %v", err)
	}
	renamed := strings.Replace(string(data), `"node_id": "`, `"node_id": "00000000-0000-4000-8000-000000000000", "x": "`, 1)
	renamed = strings.Replace(renamed, `, "x": "`+strings.Split(strings.Split(renamed, `, "x": "`)[1], `"`)[0]+`"`, "", 1)
	if _, _, err := Join(t.Context(), []byte(renamed), b.Options); err == nil || !strings.Contains(err.Error(), `this machine has joined as "edge-b"`) {
		t.Errorf("error %v", err)
	}
}

func TestAFailureUndoesEverything(t *testing.T) {
	t.Parallel()
	for name, sabotage := range map[string]func(t *testing.T, b *box){
		"the address": func(_ *testing.T, b *box) { b.wires.fails["Set"] = errors.New("no such device") },
		"a file": func(t *testing.T, b *box) {
			if err := writeFile(b.path("/etc/systemd"), []byte("not a folder"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, boxes := newSite(t)
			change(t, dir, withCameras)
			b := boxes["edge-b"]
			sabotage(t, b)
			before := b.state(t)
			if _, _, err := Join(t.Context(), b.file(t, "edge-b"), b.Options); err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(before, b.state(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("of a newer file", func(t *testing.T) {
		t.Parallel()
		dir, boxes := newSite(t)
		b := boxes["edge-b"]
		change(t, dir, withCameras)
		b.join(t, "edge-b")
		before := b.state(t)
		change(t, dir, func(d edge.Document) (edge.Change, error) { return edge.Remove(d, "edge-c", false) })
		change(t, dir, withoutNetworks)
		b.wires.fails["Set"] = errors.New("no such device")
		b.wires.addresses["eth1"] = nil // somebody has removed it
		if _, _, err := Join(t.Context(), b.file(t, "edge-b"), b.Options); err == nil {
			t.Fatal("no error")
		}
		before["addresses"] = fmt.Sprint(b.wires.addresses)
		if diff := cmp.Diff(before, b.state(t)); diff != "" {
			t.Error(diff)
		}
	})
}

// killed is what a test panics with where a command is killed.
type killed struct{}

// killAt runs a command that is killed after one of its steps, and reports whether it got that far.
func killAt(b *box, step int, command func(o Options)) (reached bool) {
	o, steps := b.Options, 0
	o.afterStep = func(string) {
		if steps++; steps > step {
			panic(killed{})
		}
	}
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(killed); !ok {
				panic(p)
			}
			reached = true
		}
	}()
	command(o)
	return false
}

func TestAKilledJoinIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	dir, boxes := newSite(t)
	b := boxes["edge-b"]
	fresh := b.state(t)
	first := b.file(t, "edge-b")
	b.join(t, "edge-b")
	joined := b.state(t)
	change(t, dir, withCameras)
	change(t, dir, func(d edge.Document) (edge.Change, error) { return edge.SetSeed(d, "edge-b") })
	change(t, dir, func(d edge.Document) (edge.Change, error) { return edge.Remove(d, "edge-c", false) })
	second := b.file(t, "edge-b")
	b.join(t, "edge-b")
	newer := b.state(t)
	leave := func() {
		t.Helper()
		if _, _, err := Leave(t.Context(), b.Options); err != nil {
			t.Fatal(err)
		}
	}
	join := func(data []byte) func(Options) {
		return func(o Options) {
			if _, _, err := Join(t.Context(), data, o); err != nil {
				t.Errorf("%v", err)
			}
		}
	}
	is := func(what string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, b.state(t)); diff != "" {
			t.Fatalf("%s:\n%s", what, diff)
		}
	}
	steps, start := 0, b.Start
	for step := 0; ; step, steps = step+1, steps+1 {
		leave()
		if !killAt(b, step, join(first)) {
			break
		}
		join(first)(b.Options)
		is(fmt.Sprintf("a first join, killed at step %d", step), joined)
		leave()
		is("and it leaves", fresh)
		killAt(b, step, join(first))
		leave()
		is(fmt.Sprintf("a first join, killed at step %d, and it leaves", step), fresh)
	}
	for step := 0; ; step, steps = step+1, steps+1 {
		leave()
		join(first)(b.Options)
		if !killAt(b, step, join(second)) {
			break
		}
		b.Start = nil
		if _, r, err := Join(t.Context(), second, b.Options); err != nil || !r.Restart || !r.Rotate {
			t.Errorf("a newer file, killed at step %d: %+v, %v", step, r, err)
		}
		b.Start = start
		join(second)(b.Options)
		is(fmt.Sprintf("a newer file, killed at step %d", step), newer)
		leave()
		is("and it leaves", fresh)
	}
	for step := 0; ; step, steps = step+1, steps+1 {
		join(second)(b.Options)
		if !killAt(b, step, func(o Options) { _, _, _ = Leave(t.Context(), o) }) {
			break
		}
		leave()
		is(fmt.Sprintf("a leave, killed at step %d", step), fresh)
	}
	if steps < 18 {
		t.Errorf("only %d steps were interrupted", steps)
	}
}

func TestAllButTheSeedWaitForTheSeed(t *testing.T) {
	t.Parallel()
	_, boxes := newSite(t)
	refused := errors.New("connection refused")
	dials := 0
	b := boxes["edge-b"]
	b.Dial = func(_ context.Context, address string) error {
		if dials++; dials < 3 {
			return refused
		}
		if address != "10.244.244.1:6443" {
			return errors.New(address)
		}
		return nil
	}
	b.join(t, "edge-b")
	if said := b.said.String(); dials != 3 || said != "waiting for the seed at 10.244.244.1:6443 (at most 1m0s): connection refused\n" {
		t.Errorf("%d attempts, and it said %q", dials, said)
	}
	a := boxes["edge-a"]
	a.Dial = func(context.Context, string) error { return errors.New("the seed waits") }
	a.join(t, "edge-a")
	c := boxes["edge-c"]
	c.Timeout, c.Dial = time.Millisecond, func(context.Context, string) error { return refused }
	_, r, err := Join(t.Context(), c.file(t, "edge-c"), c.Options)
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "the machine is configured, but the seed at 10.244.244.1:6443 does not respond") || c.starts > 0 || len(r.Changed) == 0 {
		t.Errorf("%+v, error %v", r, err)
	}
	c.Dial = func(context.Context, string) error { return nil }
	if r := c.join(t, "edge-c"); len(r.Changed) > 0 || !r.Current || c.starts != 1 {
		t.Errorf("%+v", r)
	}
}

func TestAFailedStartIsRepeated(t *testing.T) {
	t.Parallel()
	_, boxes := newSite(t)
	b := boxes["edge-a"]
	start := b.Start
	b.Start = func(context.Context) error { return errors.New("exit status 1") }
	if _, _, err := Join(t.Context(), b.file(t, "edge-a"), b.Options); err == nil || !strings.Contains(err.Error(), "the machine is configured, but k3s did not start: exit status 1") {
		t.Errorf("error %v", err)
	}
	b.Start = start
	if r := b.join(t, "edge-a"); !r.Current || len(r.Changed) > 0 || b.starts != 1 {
		t.Errorf("%+v", r)
	}
	if f, ok, err := Joined(b.Options); err != nil || !ok || f.Name != "edge-a" {
		t.Errorf("%+v, %v, %v", f, ok, err)
	}
}

func TestAKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "etc", "toskose", "cluster.key")
	public, made, err := Key(path)
	if err != nil || !made {
		t.Fatalf("%v, %v", made, err)
	}
	again, made, err := Key(path)
	if err != nil || made || again != public {
		t.Errorf("%q, %v, %v; the first was %q", again, made, err, public)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		hybrid.String(): hybrid.Recipient().String(),
		"# created: 2026\n# Recipient: age1tpm1qqq\nAGE-PLUGIN-TPM-1QQ56C5PJ\n": "",
		"hello": "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, _, err := Key(path)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestTheCommandIPSetsAndRemovesAddresses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "ip")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$@\" >>"+dir+"/calls\ncase $* in *bad*) echo 'Cannot find device' >&2; exit 1;; esac\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ip := IP{Path: script, Environ: os.Environ()}
	a := netip.MustParsePrefix("10.244.244.2/28")
	if err := errors.Join(ip.Set(t.Context(), "eth1", a), ip.Remove(t.Context(), "eth1", a)); err != nil {
		t.Fatal(err)
	}
	if err := ip.Set(t.Context(), "bad0", a); err == nil || !strings.Contains(err.Error(), "ip link set dev bad0 up`: exit status 1: Cannot find device") {
		t.Errorf("error %v", err)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	want := "link set dev eth1 up\naddress replace 10.244.244.2/28 dev eth1\naddress delete 10.244.244.2/28 dev eth1\nlink set dev bad0 up\n"
	if err != nil || string(calls) != want {
		t.Errorf("%q, %v", calls, err)
	}
	all, err := ip.Addresses()
	if err != nil || !slices.Contains(all["lo"], netip.MustParsePrefix("127.0.0.1/8")) {
		t.Errorf("%v, %v", all, err)
	}
}
