package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/toskose/toskose/internal/located"
)

// NodeFile is the file that one machine joins with. It is not secret: the token is encrypted.
type NodeFile struct {
	Name     string            `json:"node_name"`
	ID       string            `json:"node_id"`
	Revision int               `json:"revision"` // of the document
	Labels   map[string]string `json:"labels"`
	Networks []NodeNetwork     `json:"networks"`
	Cluster  ClusterConfig     `json:"cluster"`
}

// ClusterConfig is a machine's part of the cluster, with the field names of EVE.
type ClusterConfig struct {
	Name           string `json:"cluster_name"`
	ID             string `json:"cluster_id"`
	Interface      string `json:"cluster_interface"`
	Prefix         string `json:"cluster_ip_prefix"` // the machine's address, with the length of the prefix
	IsAgent        bool   `json:"Is_agent"`
	Server         string `json:"join_server_ip"` // the seed's address
	EncryptedToken string `json:"encrypted_cluster_token"`
}

// NodeNetwork is a network of a machine.
type NodeNetwork struct {
	Name   string `json:"name"`
	ID     string `json:"id"` // the same on each machine
	Prefix string `json:"prefix"`
}

// NodeFile returns the file of a machine. The token has been encrypted to its key.
func (d Document) NodeFile(n Node, encrypted string) NodeFile {
	f := NodeFile{
		Name: n.Name, ID: d.idOf("node", n.Name, n.Key), Revision: d.Revision, Labels: map[string]string{}, Networks: d.networksOf(n),
		Cluster: ClusterConfig{
			Name: d.Name, ID: d.ID, Interface: d.Interface, Prefix: fmt.Sprintf("%s/%d", n.Address, d.prefix().Bits()),
			IsAgent: n.Role == Agent, Server: d.SeedAddress(), EncryptedToken: encrypted,
		},
	}
	for key, value := range n.Labels {
		f.Labels[key] = value
	}
	return f
}

// Encode returns the file as JSON.
func (f NodeFile) Encode() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(f) // its types have a form in JSON
	return out.Bytes()
}

// IsSeed reports whether the machine is the one that all others join.
func (f NodeFile) IsSeed() bool { return f.Address().Addr().String() == f.Cluster.Server }

// Address returns the machine's address, with the length of the prefix.
func (f NodeFile) Address() netip.Prefix {
	p, _ := netip.ParsePrefix(f.Cluster.Prefix) // it has been checked
	return p
}

// maxNodeFile is the maximum size of a node file.
const maxNodeFile = 1 << 20

// ParseNodeFile reads a node file strictly, because root configures a machine by it.
func ParseNodeFile(data []byte) (NodeFile, error) {
	if len(data) > maxNodeFile {
		return NodeFile{}, fmt.Errorf("this is not a node file: it has more than %d bytes", maxNodeFile)
	}
	var f NodeFile
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return NodeFile{}, fmt.Errorf("this is not a node file: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return NodeFile{}, errors.New("this is not a node file: something follows the JSON object")
	}
	if err := f.check(); err != nil {
		return NodeFile{}, fmt.Errorf("this is not a valid node file: %w", err)
	}
	return f, nil
}

func (f NodeFile) check() error {
	p, err := netip.ParsePrefix(f.Cluster.Prefix)
	server, serverErr := netip.ParseAddr(f.Cluster.Server)
	switch {
	case !dnsLabel.MatchString(f.Name):
		return fmt.Errorf("node_name %q is not a DNS label", f.Name)
	case !uuidForm.MatchString(f.ID):
		return fmt.Errorf("node_id %q is not a UUID", f.ID)
	case f.Revision < 1:
		return errors.New("revision must be at least 1")
	case !dnsLabel.MatchString(f.Cluster.Name):
		return fmt.Errorf("cluster_name %q is not a DNS label", f.Cluster.Name)
	case !uuidForm.MatchString(f.Cluster.ID):
		return fmt.Errorf("cluster_id %q is not a UUID", f.Cluster.ID)
	case !interfaceForm.MatchString(f.Cluster.Interface):
		return fmt.Errorf("cluster_interface %q is not the name of a network interface", f.Cluster.Interface)
	case err != nil || !p.Addr().Is4() || !usable(p.Masked(), p.Addr()):
		return fmt.Errorf("cluster_ip_prefix %q is not an address with the length of its prefix", f.Cluster.Prefix)
	case serverErr != nil || !usable(p.Masked(), server):
		return fmt.Errorf("join_server_ip %q is not an address of a machine in %s", f.Cluster.Server, p.Masked())
	case f.IsSeed() && f.Cluster.IsAgent:
		return errors.New("the seed is an agent")
	}
	for _, key := range located.Keys(f.Labels) {
		if err := CheckLabel(key, f.Labels[key]); err != nil {
			return err
		}
	}
	return f.checkNetworks()
}

func (f NodeFile) checkNetworks() error {
	seen := map[string]bool{}
	for _, n := range f.Networks {
		_, err := parsePrefix(n.Prefix)
		switch {
		case !networkName.MatchString(n.Name) || seen[n.Name]:
			return fmt.Errorf("%q is not the name of a network, or appears twice", n.Name)
		case !uuidForm.MatchString(n.ID):
			return fmt.Errorf("network %q: its id %q is not a UUID", n.Name, n.ID)
		case err != nil:
			return fmt.Errorf("network %q: %w", n.Name, err)
		}
		seen[n.Name] = true
	}
	return nil
}
