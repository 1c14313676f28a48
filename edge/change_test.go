package edge_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/internal/sample"
)

func TestChangesSayWhatToDoWhere(t *testing.T) {
	t.Parallel()
	d := create(t, factory())
	m := edge.Machine{Name: "edge-d", Key: keys[4]}
	for name, change := range map[string]func() (edge.Change, error){
		"add-server":                func() (edge.Change, error) { return edge.Add(d, m, edge.Server) },
		"add-agent":                 func() (edge.Change, error) { return edge.Add(d, m, edge.Agent) },
		"remove":                    func() (edge.Change, error) { return edge.Remove(d, "edge-c", false) },
		"remove-and-keep-the-token": func() (edge.Change, error) { return edge.Remove(d, "edge-x", true) },
		"replace":                   func() (edge.Change, error) { return edge.Replace(d, "edge-c", m, false) },
		"replace-agent":             func() (edge.Change, error) { return edge.Replace(d, "edge-x", m, true) },
		"seed":                      func() (edge.Change, error) { return edge.SetSeed(d, "edge-b") },
		"label": func() (edge.Change, error) {
			return edge.Label(d, "edge-b", map[string]string{"GPU": "2"}, nil)
		},
		"refresh": func() (edge.Change, error) { return edge.Refresh(d) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := string(encode(t, d))
			c, err := change()
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			fmt.Fprintf(&out, "draw a token: %v\nleaves: %s\nwarnings: %q\n", c.DrawToken, c.Leaves, c.Warnings)
			for _, s := range c.Steps {
				fmt.Fprintf(&out, "on %q:\n  %s\n", s.Machine, strings.Join(s.Commands, "\n  "))
			}
			out.Write(encode(t, c.Document))
			sample.Golden(t, "changes/"+name, []byte(out.String()))
			if string(encode(t, d)) != before {
				t.Error("the change has changed the document before it, too")
			}
		})
	}
}

func TestAChangeIsRefused(t *testing.T) {
	t.Parallel()
	d := create(t, factory())
	m := edge.Machine{Name: "edge-d", Key: keys[4]}
	o := factory()
	o.Servers = o.Servers[:1]
	single := create(t, o)
	withNetwork := cameras(t, d, "same", nil, edge.Application{Name: "thinking", Node: "edge-b"})
	for name, tt := range map[string]struct {
		change func() (edge.Change, error)
		want   string
	}{
		"the seed removed":     {func() (edge.Change, error) { return edge.Remove(d, "edge-a", false) }, `"edge-a" is the seed, which the others join: ` + "`toskose cluster seed NAME`"},
		"the seed replaced":    {func() (edge.Change, error) { return edge.Replace(d, "edge-a", m, false) }, `"edge-a" is the seed`},
		"the last server":      {func() (edge.Change, error) { return edge.Remove(single, "edge-a", false) }, `"edge-a" is the last server`},
		"the last replaced":    {func() (edge.Change, error) { return edge.Replace(single, "edge-a", m, false) }, `"edge-a" is the last server`},
		"nobody removed":       {func() (edge.Change, error) { return edge.Remove(d, "edge-e", false) }, `the cluster factory-7 has no machine "edge-e"`},
		"nobody replaced":      {func() (edge.Change, error) { return edge.Replace(d, "nobody", m, false) }, `has no machine "nobody"`},
		"nobody the seed":      {func() (edge.Change, error) { return edge.SetSeed(d, "nobody") }, `has no machine "nobody"`},
		"nobody labelled":      {func() (edge.Change, error) { return edge.Label(d, "nobody", nil, nil) }, `has no machine "nobody"`},
		"an agent as the seed": {func() (edge.Change, error) { return edge.SetSeed(d, "edge-x") }, `"edge-x" is an agent`},
		"the seed again":       {func() (edge.Change, error) { return edge.SetSeed(d, "edge-a") }, `"edge-a" is the seed already`},
		"a name again": {func() (edge.Change, error) {
			return edge.Add(d, edge.Machine{Name: "edge-b", Key: keys[4]}, edge.Agent)
		}, `machine "edge-b" appears twice`},
		"a key again": {func() (edge.Change, error) {
			return edge.Replace(d, "edge-c", edge.Machine{Name: "edge-d", Key: keys[0]}, false)
		}, "have the same key"},
		"a label that is absent": {func() (edge.Change, error) { return edge.Label(d, "edge-b", nil, []string{"GPU"}) }, `"edge-b" has no label "GPU"`},
		"a designated machine":   {func() (edge.Change, error) { return edge.Remove(withNetwork, "edge-b", false) }, `network "cameras" designates "edge-b" for the application "thinking"`},
		"no such network":        {func() (edge.Change, error) { return edge.Attach(withNetwork, "camera", "thinking", "") }, `has no network "camera"; did you mean "cameras"?`},
		"no such machine":        {func() (edge.Change, error) { return edge.Attach(withNetwork, "cameras", "thinking", "edge-z") }, `has no machine "edge-z"`},
		"not attached":           {func() (edge.Change, error) { return edge.Detach(withNetwork, "cameras", "tasks") }, `application "tasks" does not use the network "cameras"`},
		"another such network":   {func() (edge.Change, error) { return edge.Detach(withNetwork, "plc", "tasks") }, `has no network "plc"`},
		"no digest":              {func() (edge.Change, error) { return edge.Trust(d, "x") }, "is not a SHA-256 digest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := tt.change(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestTheEighthServerIsAWarningAndTheNinthIsRefused(t *testing.T) {
	t.Parallel()
	o := factory()
	o.Agents, o.Servers = nil, nil
	for i := range 7 {
		o.Servers = append(o.Servers, edge.Machine{Name: fmt.Sprintf("m%d", i), Key: pluginKey(i)})
	}
	_, err := edge.Add(create(t, o), edge.Machine{Name: "m8", Key: pluginKey(8)}, edge.Server)
	if err == nil || !strings.Contains(err.Error(), "8 servers are too many") {
		t.Errorf("error %v", err)
	}
}

func TestTheDigestOfTheAuthorityIsInTheToken(t *testing.T) {
	t.Parallel()
	d := create(t, factory())
	digest := strings.Repeat("ab", 32)
	c, err := edge.Trust(d, digest)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.TokenText("t"); got != "t" {
		t.Errorf("before: %q", got)
	}
	if got := c.Document.TokenText("t"); got != "K10"+digest+"::server:t" {
		t.Errorf("after: %q", got)
	}
}

func TestLabelsAreReadAsKubectlReadsThem(t *testing.T) {
	t.Parallel()
	set, remove, err := edge.ParseLabels([]string{"GPU=2", "example.org/line=", "Old-"})
	if err != nil || !cmp.Equal(set, map[string]string{"GPU": "2", "example.org/line": ""}) || !cmp.Equal(remove, []string{"Old"}) {
		t.Errorf("%v, %v, %v", set, remove, err)
	}
	for _, wrong := range []string{"GPU", "=2", "a b=c", "k8s.io/x=y", "a/b/c=d"} {
		if _, _, err := edge.ParseLabels([]string{wrong}); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
	if _, _, err := edge.ParseLabels([]string{"a=1", "a=2"}); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("error %v", err)
	}
	if err := edge.CheckLabel("site.node.kubernetes.io/rack", "7"); err != nil {
		t.Errorf("a label that kubelets may set: %v", err)
	}
}

func TestAMachineIsNameAndKey(t *testing.T) {
	t.Parallel()
	if m, err := edge.ParseMachine("edge-a=" + keys[0]); err != nil || m != (edge.Machine{Name: "edge-a", Key: keys[0]}) {
		t.Errorf("%+v, %v", m, err)
	}
	for _, wrong := range []string{"", "edge-a", "=age1", "edge-a="} {
		if _, err := edge.ParseMachine(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

// TestANodeFileFromElsewhereIsRefused changes a valid file, value by value.
func TestANodeFileFromElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	d := cameras(t, create(t, factory()), "same", nil, edge.Application{Name: "thinking"})
	n, _ := d.Node("edge-b")
	good := string(d.NodeFile(n, "x").Encode())
	for name, tt := range map[string]struct{ old, new, want string }{
		"no JSON":            {"{", "", "this is not a node file"},
		"more":               {good, good + "{}", "something follows the JSON object"},
		"too much":           {good, strings.Repeat(" ", 1<<20) + good, "more than"},
		"an unknown field":   {`"node_name"`, `"node_nam"`, `unknown field "node_nam"`},
		"a name":             {`"edge-b"`, `"../b"`, `node_name "../b" is not a DNS label`},
		"a node's id":        {`"node_id": "`, `"node_id": "x`, "is not a UUID"},
		"a revision":         {`"revision": 2`, `"revision": 0`, "revision must be at least 1"},
		"the cluster's name": {`"factory-7"`, `"factory 7"`, "cluster_name"},
		"the cluster's id":   {`"cluster_id": "`, `"cluster_id": "x`, "cluster_id"},
		"an interface":       {`"eth1"`, `"eth1\nExecStart=/bin/sh"`, "cluster_interface"},
		"an address":         {`.2/28`, `.0/28`, "cluster_ip_prefix"},
		"the seed":           {`"10.244.244.1"`, `"10.244.245.1"`, "join_server_ip"},
		"the seed's role":    {"\"Is_agent\": false,\n    \"join_server_ip\": \"10.244.244.1\"", "\"Is_agent\": true,\n    \"join_server_ip\": \"10.244.244.2\"", "the seed is an agent"},
		"a label":            {`"labels": {}`, `"labels": {"a b": "c"}`, "is not the key of a Kubernetes label"},
		"a network":          {`"cameras"`, `"../../x"`, "is not the name of a network"},
		"a network's id":     {"\"name\": \"cameras\",\n      \"id\": \"", "\"name\": \"cameras\",\n      \"id\": \"x", "is not a UUID"},
		"a network's prefix": {`"10.1.10.0/24"`, `"10.1.10.0"`, "is not an IPv4 prefix"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong := strings.Replace(good, tt.old, tt.new, 1)
			if wrong == good {
				t.Fatalf("%q is not in %s", tt.old, good)
			}
			if _, err := edge.ParseNodeFile([]byte(wrong)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// cameras adds a network to a cluster, as a user does in the document.
func cameras(t *testing.T, d edge.Document, rule string, labels map[string]string, applications ...edge.Application) edge.Document {
	t.Helper()
	d.Networks = []edge.Network{{Name: "cameras", Prefix: edge.PrefixRule(rule), Base: "10.1.10.0/24", Labels: labels, Applications: applications}}
	c, err := edge.Refresh(d)
	if err != nil {
		t.Fatal(err)
	}
	return c.Document
}

func TestMachinesGetTheNetworksOfTheirApplications(t *testing.T) {
	t.Parallel()
	d := create(t, factory())
	labelled, err := edge.Label(d, "edge-c", map[string]string{"camera": "yes"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d = labelled.Document
	thinking, onB := edge.Application{Name: "thinking"}, edge.Application{Name: "tasks", Node: "edge-b"}
	for name, tt := range map[string]struct {
		d    edge.Document
		want string
	}{
		"held back until attached": {cameras(t, d, "same", nil), ""},
		"the same prefix":          {cameras(t, d, "same", nil, thinking), "edge-a=10.1.10.0/24 edge-b=10.1.10.0/24 edge-c=10.1.10.0/24 edge-x=10.1.10.0/24"},
		"different prefixes":       {cameras(t, d, "different", nil, thinking), "edge-a=10.1.10.0/24 edge-b=10.1.11.0/24 edge-c=10.1.12.0/24 edge-x=10.1.13.0/24"},
		"labels":                   {cameras(t, d, "different", map[string]string{"camera": "yes"}, thinking), "edge-c=10.1.12.0/24"},
		"the designated machine":   {cameras(t, d, "different", map[string]string{"camera": "yes"}, onB), "edge-b=10.1.11.0/24"},
		"both":                     {cameras(t, d, "different", map[string]string{"camera": "yes"}, onB, thinking), "edge-b=10.1.11.0/24 edge-c=10.1.12.0/24"},
		"no machine has the label": {cameras(t, d, "same", map[string]string{"camera": "no"}, thinking), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got, ids []string
			for _, n := range tt.d.Nodes {
				for _, network := range tt.d.NodeFile(n, "").Networks {
					got = append(got, n.Name+"="+network.Prefix)
					ids = append(ids, network.ID)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), tt.want)
			}
			for _, id := range ids {
				if id != ids[0] {
					t.Errorf("the network has the ids %q", ids)
				}
			}
		})
	}
}

func TestAPrefixStaysWhenMachinesLeave(t *testing.T) {
	t.Parallel()
	d := cameras(t, create(t, factory()), "different", nil, edge.Application{Name: "thinking"})
	removed, err := edge.Remove(d, "edge-b", true)
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := edge.Replace(removed.Document, "edge-c", edge.Machine{Name: "edge-d", Key: keys[4]}, true)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := replaced.Document.Node("edge-d")
	if got := replaced.Document.NodeFile(n, "").Networks[0].Prefix; got != "10.1.12.0/24" {
		t.Errorf("the third machine has %s", got)
	}
}

func TestAnApplicationIsAttachedAndDetached(t *testing.T) {
	t.Parallel()
	d := cameras(t, create(t, factory()), "same", nil)
	attached, err := edge.Attach(d, "cameras", "thinking", "edge-b")
	if err != nil {
		t.Fatal(err)
	}
	want := []edge.Step{{Machine: "edge-b", Commands: []string{"toskose cluster join edge-b.json"}}, {Commands: []string{"kubectl apply -f networks/cameras.yaml"}}}
	if diff := cmp.Diff(want, attached.Steps); diff != "" {
		t.Error(diff)
	}
	moved, err := edge.Attach(attached.Document, "cameras", "thinking", "edge-c")
	if err != nil || len(moved.Document.Networks[0].Applications) != 1 || len(moved.Steps) != 3 {
		t.Errorf("%v: %+v", err, moved)
	}
	detached, err := edge.Detach(moved.Document, "cameras", "thinking")
	if err != nil || len(detached.Document.Networks[0].Applications) != 0 || len(detached.Steps) != 1 {
		t.Errorf("%v: %+v", err, detached)
	}
	if len(moved.Document.Networks[0].Applications) != 1 {
		t.Error("the change has changed the document before it, too")
	}
	sample.Golden(t, "networks/cameras.yaml", d.Networks[0].Definition())
	n, _ := attached.Document.Node("edge-b")
	bridge := attached.Document.NodeFile(n, "").Networks[0].Bridge()
	sample.Golden(t, "networks/cameras.conf", bridge)
	if !json.Valid(bridge) {
		t.Error("the configuration is not JSON")
	}
}
