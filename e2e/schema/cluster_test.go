package schema

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/toskose/toskose/edge"
)

func TestTheSchemaOfClustersTakesWhatTheReaderTakes(t *testing.T) {
	t.Parallel()
	compiled := compile(t, "cluster")
	d, err := edge.Create(edge.CreateOptions{
		Name: "factory-7", Interface: "eth1", Random: rand.Reader,
		Servers: []edge.Machine{{Name: "edge-a", Key: "age1dhlusfqygcnwa559ulqwq54x8vu2ra6leeqlgcm0aauj59kyu5vqa07k7f"}},
		Agents:  []edge.Machine{{Name: "edge-x", Key: "age107j03mnv55kt20t80mmdd4zrrufm4ygx3w7v752dl2pymxm6xs3sn22c5x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		old, new string
		takes    bool
	}{
		"a new cluster":        {"", "", true},
		"everything":           {"seed: edge-a", "seed: edge-a\nca: " + strings.Repeat("ab", 32) + "\nreserved: [192.168.0.0/16]\nfreed: [10.244.244.9]\nnetworks:\n  - {name: cameras, prefix: different, base: 10.1.10.0/24, labels: {GPU: 2, on: true}, applications: [{name: thinking, node: edge-a}, {name: tasks}]}", true},
		"null":                 {"seed: edge-a", "seed: edge-a\nca:\nreserved:\nfreed:\nnetworks:", true},
		"labels":               {"role: agent,", "role: agent, labels: {GPU: \"2\", empty: \"\"},", true},
		"an unknown key":       {"seed: edge-a", "seed: edge-a\nseeds: 2", false},
		"another role":         {"role: agent", "role: master", false},
		"no machine":           {"nodes:", "nodes: []\nx:", false},
		"no seed":              {"seed: edge-a\n", "", false},
		"a name":               {"name: factory-7", "name: Factory_7", false},
		"a revision":           {"revision: 1", "revision: 0", false},
		"half a revision":      {"revision: 1", "revision: 1.5", false},
		"an id":                {"id: ", "id: x", false},
		"an interface":         {"interface: eth1", "interface: eth1 eth2", false},
		"a prefix":             {"prefix: 10.244.244.0/28", "prefix: 10.244.244.0", false},
		"a key":                {"key: age1", "key: AGE1", false},
		"a digest":             {"seed: edge-a", "seed: edge-a\nca: abc", false},
		"a label with a space": {"role: agent,", "role: agent, labels: {GPU: a b},", false},
		"another rule":         {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a, prefix: none, base: 10.1.0.0/24}]", false},
		"a long name":          {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a-very-long-name, prefix: same, base: 10.1.0.0/24}]", false},
		"a nameless user":      {"seed: edge-a", "seed: edge-a\nnetworks: [{name: a, prefix: same, base: 10.1.0.0/24, applications: [{node: edge-a}]}]", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(string(data), tt.old, tt.new, 1)
			_, readerErr := edge.Parse("cluster.yaml", []byte(text))
			schemaErr := compiled.Validate(instance(t, text))
			if (readerErr == nil) != tt.takes || (schemaErr == nil) != tt.takes {
				t.Errorf("the reader says %v, the schema %v", readerErr, schemaErr)
			}
		})
	}
}
