package edge

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/toskose/toskose/internal/located"
)

// finding is a problem of a document, at the path of a value.
type finding struct{ path, text string }

type findings []finding

func (fs *findings) add(path, format string, args ...any) {
	*fs = append(*fs, finding{path, fmt.Sprintf(format, args...)})
}

// check returns all problems of a document.
func (d Document) check() findings {
	var fs findings
	if !dnsLabel.MatchString(d.Name) {
		fs.add("name", "the cluster's name %q is not a DNS label (a-z, 0-9 and -, at most 63)", d.Name)
	}
	if !uuidForm.MatchString(d.ID) {
		fs.add("id", "%q is not a UUID in lower case", d.ID)
	}
	if d.Revision < 1 {
		fs.add("revision", "the revision must be at least 1")
	}
	if !interfaceForm.MatchString(d.Interface) {
		fs.add("interface", "%q is not the name of a network interface", d.Interface)
	}
	if d.CA != "" && !digestForm.MatchString(d.CA) {
		fs.add("ca", "%q is not a SHA-256 digest in hexadecimal", d.CA)
	}
	for i, text := range d.Reserved {
		if _, err := netip.ParsePrefix(text); err != nil {
			fs.add(fmt.Sprintf("reserved.%d", i), "%q is not a prefix, such as 192.168.0.0/16", text)
		}
	}
	d.checkPrefix(&fs)
	d.checkNodes(&fs)
	d.checkSeed(&fs)
	d.checkNetworks(&fs)
	return fs
}

func (d Document) checkPrefix(fs *findings) {
	p, err := parsePrefix(d.Prefix)
	if err == nil {
		err = overlapping(p, d.Reserved)
	}
	if err != nil {
		fs.add("prefix", "prefix %s", err)
		return
	}
	if room := hosts(p); room < len(d.Nodes) {
		fs.add("prefix", "prefix %s is too small: it has %d addresses, and the cluster has %d machines", p, room, len(d.Nodes))
	}
	for i, text := range d.Freed {
		if a, err := netip.ParseAddr(text); err != nil || !usable(p, a) {
			fs.add(fmt.Sprintf("freed.%d", i), "%q is not an address of a machine in %s", text, p)
		}
	}
}

// usable reports whether a machine can have an address.
func usable(p netip.Prefix, a netip.Addr) bool {
	return p.Contains(a) && a != p.Addr() && a != lastOf(p)
}

// checkNodes checks each machine. An address outside an invalid prefix is not reported.
func (d Document) checkNodes(fs *findings) {
	p, err := parsePrefix(d.Prefix)
	names, keys, addresses := map[string]bool{}, map[string]string{}, map[string]string{}
	for i, n := range d.Nodes {
		at := fmt.Sprintf("nodes.%d.", i)
		switch {
		case !dnsLabel.MatchString(n.Name):
			fs.add(at+"name", "the name %q of a machine is not a DNS label (a-z, 0-9 and -, at most 63)", n.Name)
		case names[n.Name]:
			fs.add(at+"name", "machine %q appears twice", n.Name)
		}
		names[n.Name] = true
		if n.Role != Server && n.Role != Agent {
			fs.add(at+"role", "machine %q: the role %q is neither server nor agent%s", n.Name, n.Role, located.DidYouMean(string(n.Role), []string{string(Server), string(Agent)}))
		}
		if a, parsed := netip.ParseAddr(n.Address); err == nil && (parsed != nil || !usable(p, a)) {
			fs.add(at+"address", "machine %q: %q is not an address of a machine in %s", n.Name, n.Address, p)
		} else if other := addresses[n.Address]; other != "" {
			fs.add(at+"address", "machines %q and %q have the same address %s", other, n.Name, n.Address)
		}
		addresses[n.Address] = n.Name
		if _, err := ParseKey(n.Key); err != nil {
			fs.add(at+"key", "machine %q: %s", n.Name, err)
		} else if other := keys[n.Key]; other != "" {
			fs.add(at+"key", "machines %q and %q have the same key: each needs its own, which `toskose cluster key` makes", other, n.Name)
		}
		keys[n.Key] = n.Name
		for _, key := range located.Keys(n.Labels) {
			if err := CheckLabel(key, n.Labels[key]); err != nil {
				fs.add(at+"labels."+key, "machine %q: %s", n.Name, err)
			}
		}
	}
}

func (d Document) checkSeed(fs *findings) {
	seed, ok := d.Node(d.Seed)
	switch {
	case len(d.Nodes) == 0:
		fs.add("nodes", "a cluster has at least one machine, which is a server")
	case !ok:
		fs.add("seed", "the seed %q is not a machine of the cluster%s", d.Seed, located.DidYouMean(d.Seed, d.Names()))
	case seed.Role == Agent:
		fs.add("seed", "the seed %q is an agent: it must be a server", d.Seed)
	}
	if n := len(d.Servers()); n > maxServers {
		fs.add("nodes", "%d servers are too many: a cluster has at most %d, and any number of agents", n, maxServers)
	}
}

// maxServers is the maximum number of members of etcd. Every member slows etcd down.
const maxServers = 7

// err returns the problems of a document that was made, not read, as one error.
func (fs findings) err() error {
	if len(fs) == 0 {
		return nil
	}
	lines := make([]string, 0, len(fs))
	for _, f := range fs {
		if !slices.Contains(lines, f.text) {
			lines = append(lines, f.text)
		}
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}
