package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toskose/toskose/spec"
)

// Ports are published ports; nil: the ports of the application.
type Ports []string

// IsZero reports whether no ports are configured. An empty list is a configuration that publishes none.
func (p Ports) IsZero() bool { return p == nil }

// ParsePort parses a published port: [ADDRESS:]HOST:CONTAINER[/PROTOCOL].
func ParsePort(text string) (spec.Port, error) {
	outside, protocol, has := strings.Cut(text, "/")
	if !has {
		protocol = "tcp"
	}
	i := strings.LastIndex(outside, ":")
	inside, err := strconv.ParseUint(outside[i+1:], 10, 16)
	address, host, err2 := spec.ParseHostPort(outside[:max(i, 0)])
	if err != nil || err2 != nil || inside == 0 || host == 0 || protocol != "tcp" && protocol != "udp" {
		return spec.Port{}, fmt.Errorf("%q is not a published port: write HOST:CONTAINER or ADDRESS:HOST:CONTAINER, such as 127.0.0.1:8080:80 or [::1]:8080:80, with /udp behind it if any", text)
	}
	return spec.Port{Container: int(inside), Host: host, Protocol: protocol, Address: address}, nil
}

// Published returns the ports of a container: those of Node.Ports are published instead of those that the application publishes,
// which stay as ports inside the container. Node.Ports must be valid.
func (n Node) Published(ports []spec.Port) []spec.Port {
	if n.Ports == nil {
		return ports
	}
	var all []spec.Port
	inside := map[spec.Port]bool{}
	for _, text := range n.Ports {
		if p, err := ParsePort(text); err == nil {
			all = append(all, p)
			inside[spec.Port{Container: p.Container, Protocol: p.Protocol}] = true
		}
	}
	for _, p := range ports {
		p.Host, p.Address = 0, ""
		if !inside[p] {
			all = append(all, p)
		}
	}
	return all
}

// published returns the ports of a container with its settings.
func (t TargetNode) published(n Node) []spec.Port { return n.Published(t.Ports) }

// hostPorts returns the ports of the host that the application publishes.
func (t Target) hostPorts(nodes map[string]Node) []int {
	var all []int
	for _, n := range t.Nodes {
		for _, p := range n.published(nodes[n.Name]) {
			if p.Host != 0 {
				all = append(all, p.Host)
			}
		}
	}
	return all
}

func (d *decoder) checkPorts(path string, ports Ports) {
	var all []spec.Port
	for i, text := range ports {
		at := path + "." + strconv.Itoa(i)
		if d.Bad[at] {
			continue
		}
		p, err := ParsePort(text)
		if err != nil {
			d.ReportAt(at, "%v", err)
			continue
		}
		for _, other := range all {
			if p.Conflicts(other) {
				d.ReportAt(at, "port %s/%s of the host is listed twice", p.Published(), p.Protocol)
				break
			}
		}
		all = append(all, p)
	}
}
