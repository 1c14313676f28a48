package edge_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"filippo.io/age/plugin"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/internal/dice"
	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/internal/located"
	"github.com/toskose/toskose/internal/sample"
)

func TestMain(m *testing.M) { leak.Main(m) }

// keys are public keys whose identities nobody has.
var keys = []string{
	"age1dhlusfqygcnwa559ulqwq54x8vu2ra6leeqlgcm0aauj59kyu5vqa07k7f",
	"age107j03mnv55kt20t80mmdd4zrrufm4ygx3w7v752dl2pymxm6xs3sn22c5x",
	"age17n64qu8l84pezpjk3qmmz586z07wln27jy4c5xqvuqd407hlle4s7uq7rw",
	"age19n36mlwgng54manjlrhaf4jvmy6lw5g3ndc34rt74hpzxhf4ds2qzxx4uq",
	"age1xm93sccuaju8s22qd7evzu49z5g6ze2apd6ze6eumcyg8j33wf8qg9crwd",
	"age1sjqdwjwm7g25sch0vws8vk2vt3g688ckva89v8d36dxs4augzg9qacxewp",
}

// constant is a random source whose numbers are in the golden files.
type constant struct{}

func (constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 0x5a
	}
	return len(p), nil
}

// factory describes a cluster of three servers and an agent.
func factory() edge.CreateOptions {
	return edge.CreateOptions{
		Name: "factory-7", Interface: "eth1", Random: constant{},
		Servers: []edge.Machine{{Name: "edge-a", Key: keys[0]}, {Name: "edge-b", Key: keys[1]}, {Name: "edge-c", Key: keys[2]}},
		Agents:  []edge.Machine{{Name: "edge-x", Key: keys[3]}},
	}
}

func create(t *testing.T, o edge.CreateOptions) edge.Document {
	t.Helper()
	d, err := edge.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func encode(t *testing.T, d edge.Document) []byte {
	t.Helper()
	data, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestANewClusterAlwaysHasTheSameFiles(t *testing.T) {
	t.Parallel()
	d := create(t, factory())
	sample.Golden(t, "cluster.yaml", encode(t, d))
	labelled, err := edge.Label(d, "edge-b", map[string]string{"GPU": "2", "DirectConnect": "eth3"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range labelled.Document.Nodes {
		f := labelled.Document.NodeFile(n, "-----BEGIN AGE ENCRYPTED FILE-----\n…\n")
		sample.Golden(t, n.Name+".json", f.Encode())
		config, err := f.K3s()
		if err != nil {
			t.Fatal(err)
		}
		sample.Golden(t, n.Name+".k3s.yaml", config)
		if read, err := edge.ParseNodeFile(f.Encode()); err != nil || !cmp.Equal(read, f) {
			t.Errorf("%v, and it differs:\n%s", err, cmp.Diff(f, read))
		}
	}
}

func TestADocumentIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	d := create(t, factory())
	text := strings.NewReplacer(
		"seed: edge-a", "seed: edge-a # in the cabinet\n# Ask Ann for access.\n",
		"  - {name: edge-b,", "  # spare parts: shelf 4\n  - {name: edge-b,",
	).Replace(string(encode(t, d)))
	read, err := edge.Parse("cluster.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	added, err := edge.Add(read, edge.Machine{Name: "edge-y", Key: keys[4]}, edge.Agent)
	if err != nil {
		t.Fatal(err)
	}
	removed, err := edge.Remove(added.Document, "edge-x", false)
	if err != nil {
		t.Fatal(err)
	}
	sample.Golden(t, "commented.yaml", encode(t, removed.Document))
	again, err := edge.Parse("cluster.yaml", encode(t, removed.Document))
	if err != nil || string(encode(t, again)) != string(encode(t, removed.Document)) {
		t.Errorf("error %v; it was written again as\n%s", err, encode(t, again))
	}
}

func TestACreationIsRefused(t *testing.T) {
	t.Parallel()
	servers := func(names ...string) (all []edge.Machine) {
		for i, name := range names {
			all = append(all, edge.Machine{Name: name, Key: plugin.EncodeRecipient("tpm", []byte{byte(i)})})
		}
		return all
	}
	for name, tt := range map[string]struct {
		change func(*edge.CreateOptions)
		want   string
	}{
		"no name":               {func(o *edge.CreateOptions) { o.Name = "" }, `the cluster's name "" is not a DNS label`},
		"a name with a dot":     {func(o *edge.CreateOptions) { o.Name = "factory.7" }, `the cluster's name "factory.7" is not a DNS label`},
		"a machine's name":      {func(o *edge.CreateOptions) { o.Servers[1].Name = "Edge_B" }, `the name "Edge_B" of a machine is not a DNS label`},
		"a name twice":          {func(o *edge.CreateOptions) { o.Agents[0].Name = "edge-b" }, `machine "edge-b" appears twice`},
		"a key twice":           {func(o *edge.CreateOptions) { o.Agents[0].Key = keys[0] }, `machines "edge-a" and "edge-x" have the same key`},
		"no key":                {func(o *edge.CreateOptions) { o.Servers[0].Key = "age1hello" }, `machine "edge-a": "age1hello" is not an age key`},
		"a private key":         {func(o *edge.CreateOptions) { o.Servers[0].Key = "AGE-SECRET-KEY-1QQ" }, "which must not leave its machine"},
		"an SSH key":            {func(o *edge.CreateOptions) { o.Servers[0].Key = "ssh-ed25519 AAAA" }, "is not an age key"},
		"an interface":          {func(o *edge.CreateOptions) { o.Interface = "eth1; reboot" }, "is not the name of a network interface"},
		"a small prefix":        {func(o *edge.CreateOptions) { o.Prefix = "10.9.0.0/30" }, "prefix 10.9.0.0/30 is too small: it has 2 addresses, and the cluster has 4 machines"},
		"no room at all":        {func(o *edge.CreateOptions) { o.Prefix = "10.9.0.0/31" }, "too small: it has 0 addresses"},
		"a public prefix":       {func(o *edge.CreateOptions) { o.Prefix = "11.0.0.0/24" }, "11.0.0.0/24 is not a private prefix"},
		"a partly public one":   {func(o *edge.CreateOptions) { o.Prefix = "172.16.0.0/8" }, "has bits behind its length"},
		"a wide one":            {func(o *edge.CreateOptions) { o.Prefix = "192.0.0.0/8" }, "is not a private prefix"},
		"an address":            {func(o *edge.CreateOptions) { o.Prefix = "10.9.0.1/24" }, "the prefix is 10.9.0.0/24"},
		"IPv6":                  {func(o *edge.CreateOptions) { o.Prefix = "fd00::/64" }, "is not an IPv4 prefix"},
		"the pods of k3s":       {func(o *edge.CreateOptions) { o.Prefix = "10.42.3.0/24" }, "10.42.3.0/24 overlaps 10.42.0.0/16, which k3s uses"},
		"the services of k3s":   {func(o *edge.CreateOptions) { o.Prefix = "10.0.0.0/8" }, "10.0.0.0/8 overlaps 10.42.0.0/16"},
		"a reserved prefix":     {func(o *edge.CreateOptions) { o.Reserved = []string{"10.244.0.0/16"} }, "10.244.244.0/28 overlaps the reserved prefix 10.244.0.0/16"},
		"no prefix to reserve":  {func(o *edge.CreateOptions) { o.Reserved = []string{"10.244"} }, `"10.244" is not a prefix`},
		"no server":             {func(o *edge.CreateOptions) { o.Servers = nil }, `the seed "" is not a machine of the cluster`},
		"nothing":               {func(o *edge.CreateOptions) { o.Servers, o.Agents = nil, nil }, "at least one machine, which is a server"},
		"two servers":           {func(o *edge.CreateOptions) { o.Servers = o.Servers[:2] }, "the number of servers is 2: it must be 1, 3, 5 or 7"},
		"four servers":          {func(o *edge.CreateOptions) { o.Servers = servers("a", "b", "c", "d") }, "the number of servers is 4"},
		"nine servers":          {func(o *edge.CreateOptions) { o.Servers = servers("a", "b", "c", "d", "e", "f", "g", "h", "i") }, "the number of servers is 9"},
		"an unknown seed":       {func(o *edge.CreateOptions) { o.Seed = "edge-d" }, `the seed "edge-d" is not a machine of the cluster`},
		"an agent as the seed":  {func(o *edge.CreateOptions) { o.Seed = "edge-x" }, `the seed "edge-x" is an agent`},
		"no randomness":         {func(o *edge.CreateOptions) { o.Random = strings.NewReader("") }, "cannot draw a UUID"},
		"everything is there":   {func(o *edge.CreateOptions) { o.Name, o.Servers[1].Name = "F", "E" }, "the cluster's name \"F\" is not a DNS label (a-z, 0-9 and -, at most 63)\nthe name \"E\" of a machine"},
		"a machine without key": {func(o *edge.CreateOptions) { o.Servers[2].Key = "" }, "is not an age key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := factory()
			tt.change(&o)
			if _, err := edge.Create(o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAPluginIsNeededForItsKeys(t *testing.T) {
	t.Parallel()
	key := plugin.EncodeRecipient("no-such-plugin", []byte("x"))
	if got := edge.PluginOf(key); got != "no-such-plugin" {
		t.Errorf("the plugin is %q", got)
	}
	err := edge.CheckPlugins([]edge.Node{{Name: "edge-a", Key: key}, {Name: "edge-b", Key: keys[1]}})
	if err == nil || !strings.Contains(err.Error(), `the key of "edge-a" needs age-plugin-no-such-plugin`) || strings.Contains(err.Error(), "edge-b") {
		t.Errorf("error %v", err)
	}
}

func TestProblemsOfADocumentHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	text := string(encode(t, create(t, factory())))
	for name, tt := range map[string]struct{ old, new, want string }{
		"an unknown key":      {"interface:", "interfaces:", `cluster.yaml:5:1: interfaces: unknown key; did you mean "interface"?`},
		"a machine's key":     {"role: agent", "rolle: agent", `: nodes.3.rolle: unknown key; did you mean "role"?`},
		"a role":              {"role: agent", "role: agnet", `cluster.yaml:12:26: machine "edge-x": the role "agnet" is neither server nor agent; did you mean "agent"?`},
		"a list":              {"prefix: 10.244.244.0/28", "prefix: [10.0.0.0/8]", "cluster.yaml:6:9: prefix: must be text, not a list"},
		"an address":          {"address: 10.244.244.3", "address: 10.244.244.15", `machine "edge-c": "10.244.244.15" is not an address of a machine in 10.244.244.0/28`},
		"an address twice":    {"address: 10.244.244.3", "address: 10.244.244.2", `machines "edge-b" and "edge-c" have the same address 10.244.244.2`},
		"the id":              {"id: 5a5a5a5a-", "id: 5A5A5A5A-", "is not a UUID in lower case"},
		"the revision":        {"revision: 1", "revision: 0", "cluster.yaml:4:11: the revision must be at least 1"},
		"a label":             {"role: agent,", "role: agent, labels: {kubernetes.io/os: x},", "a machine cannot set labels of kubernetes.io on its own Node"},
		"a label's value":     {"role: agent,", "role: agent, labels: {a: b c},", `"b c" is not the value of a Kubernetes label`},
		"a label's key":       {"role: agent,", "role: agent, labels: {a b: c},", `"a b" is not the key of a Kubernetes label`},
		"the digest":          {"seed: edge-a", "seed: edge-a\nca: 12", `"12" is not a SHA-256 digest`},
		"a freed address":     {"seed: edge-a", "seed: edge-a\nfreed: [10.0.0.1]", `"10.0.0.1" is not an address of a machine in 10.244.244.0/28`},
		"no seed":             {"seed: edge-a\n", "", `cluster.yaml:1:1: the seed "" is not a machine of the cluster`},
		"no YAML":             {"seed:", "seed: {", "is not valid YAML"},
		"a network's name":    {"seed: edge-a", "seed: edge-a\nnetworks: [{name: Cameras, prefix: same, base: 10.1.10.0/24}]", `the name "Cameras" of a network is not a DNS label of at most 12`},
		"a network twice":     {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a, prefix: same, base: 10.1.10.0/24}, {name: a, prefix: same, base: 10.1.11.0/24}]", `network "a" appears twice`},
		"a network's rule":    {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a, prefix: differents, base: 10.1.10.0/24}]", `prefix "differents" is neither same nor different; did you mean "different"?`},
		"a network's base":    {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a, prefix: same, base: 10.244.244.0/29}]", "10.244.244.0/29 overlaps the reserved prefix 10.244.244.0/28"},
		"a large base":        {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a, prefix: different, base: 10.1.0.0/16}]", "10.1.0.0/16 is too large"},
		"a tiny base":         {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a, prefix: same, base: 10.1.0.0/32}]", "10.1.0.0/32 is too small"},
		"the last octets":     {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a, prefix: different, base: 10.1.253.0/24}]", `machine "edge-x" is number 4: the third octet of 10.1.253.0/24 would be above 255`},
		"a designated node":   {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a, prefix: same, base: 10.1.0.0/24, applications: [{name: t, node: edge-z}]}]", `has no machine "edge-z"`},
		"a nameless program":  {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a, prefix: same, base: 10.1.0.0/24, applications: [{node: edge-a}]}]", "an application has no name"},
		"a network's labels":  {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a, prefix: same, base: 10.1.0.0/24, labels: {a: b c}}]", `network "a": "b c" is not the value`},
		"a base without form": {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a, prefix: same, base: here}]", `"here" is not an IPv4 prefix`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong := strings.Replace(text, tt.old, tt.new, 1)
			_, err := edge.Parse("cluster.yaml", []byte(wrong))
			var problems located.Problems
			if !errors.As(err, &problems) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAFreedAddressIsAssignedAfterAllOthers(t *testing.T) {
	t.Parallel()
	o := factory()
	o.Prefix, o.Agents = "10.9.0.0/29", nil // six machines
	d := create(t, o)
	next := func(c edge.Change, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		d = c.Document
	}
	add := func(name string, key int) {
		t.Helper()
		next(edge.Add(d, edge.Machine{Name: name, Key: keys[key]}, edge.Agent))
	}
	next(edge.Remove(d, "edge-c", false))
	next(edge.Remove(d, "edge-b", false))
	add("edge-d", 3)
	add("edge-e", 4)
	add("edge-f", 5)
	add("edge-g", 1)
	add("edge-h", 2)
	var got []string
	for _, n := range d.Nodes {
		got = append(got, n.Name+"="+n.Address)
	}
	want := []string{"edge-a=10.9.0.1", "edge-d=10.9.0.4", "edge-e=10.9.0.5", "edge-f=10.9.0.6", "edge-g=10.9.0.3", "edge-h=10.9.0.2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := edge.Add(d, edge.Machine{Name: "edge-i", Key: plugin.EncodeRecipient("x", []byte("i"))}, edge.Agent); err == nil || !strings.Contains(err.Error(), "the prefix 10.9.0.0/29 has no address") {
		t.Errorf("error %v", err)
	}
}

// TestMachinesStayDistinct changes clusters at random, and looks at names, ids and addresses after each change.
func TestMachinesStayDistinct(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(dice.Seed(), 7))
	for range 40 {
		d := create(t, factory())
		for step := range 60 {
			m := edge.Machine{Name: fmt.Sprintf("m%d", random.IntN(12)), Key: plugin.EncodeRecipient("x", []byte{byte(step), byte(random.IntN(3))})}
			some := d.Nodes[random.IntN(len(d.Nodes))].Name
			var c edge.Change
			var err error
			switch random.IntN(5) {
			case 0:
				c, err = edge.Add(d, m, edge.Server)
			case 1:
				c, err = edge.Add(d, m, edge.Agent)
			case 2:
				c, err = edge.Remove(d, some, random.IntN(2) == 0)
			case 3:
				c, err = edge.Replace(d, some, m, false)
			default:
				c, err = edge.SetSeed(d, some)
			}
			if err != nil {
				continue
			}
			if c.Document.Revision != d.Revision+1 {
				t.Fatalf("revision %d follows %d", c.Document.Revision, d.Revision)
			}
			d = c.Document
			distinct(t, d)
		}
	}
}

func distinct(t *testing.T, d edge.Document) {
	t.Helper()
	prefix := netip.MustParsePrefix(d.Prefix)
	seen := map[string]bool{}
	seeds := 0
	for _, n := range d.Nodes {
		f := d.NodeFile(n, "")
		for _, one := range []string{n.Name, f.ID, n.Address, n.Key} {
			if seen[one] {
				t.Fatalf("%q appears twice in\n%s", one, encode(t, d))
			}
			seen[one] = true
		}
		if !prefix.Contains(f.Address().Addr()) || f.Address().Bits() != prefix.Bits() || slices.Contains(d.Freed, n.Address) {
			t.Fatalf("%s has the address %s in\n%s", n.Name, n.Address, encode(t, d))
		}
		if f.IsSeed() {
			seeds++
		}
	}
	if seeds != 1 {
		t.Fatalf("%d seeds are in\n%s", seeds, encode(t, d))
	}
}

// pluginKey returns a key of a plugin, which is not installed.
func pluginKey(i int) string { return plugin.EncodeRecipient("x", []byte{byte(i)}) }
