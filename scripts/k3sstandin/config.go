package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

// config is a configuration of k3s. It is read strictly: a key that k3s has and this program does not know is an error.
type config struct {
	ClusterInit bool     `yaml:"cluster-init"`
	Server      string   `yaml:"server"`
	TokenFile   string   `yaml:"token-file"`
	Name        string   `yaml:"node-name"`
	IP          string   `yaml:"node-ip"`
	Advertise   string   `yaml:"advertise-address"`
	Flannel     string   `yaml:"flannel-iface"`
	Names       []string `yaml:"tls-san"`
	Labels      []string `yaml:"node-label"`

	agent  bool
	token  string // without its form
	digest string // of the certificate authority; empty: any is trusted
}

func readConfig(agent bool) (config, error) {
	c := config{agent: agent}
	data, err := os.ReadFile(configFile)
	if err != nil {
		return c, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil {
		return c, fmt.Errorf("%s: %w", configFile, err)
	}
	text, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return c, err
	}
	c.token = strings.TrimSpace(string(text))
	if form, ok := strings.CutPrefix(c.token, "K10"); ok {
		digest, rest, found := strings.Cut(form, "::server:")
		if !found {
			return c, fmt.Errorf("%s has another form than K10DIGEST::server:TOKEN", c.TokenFile)
		}
		c.digest, c.token = digest, rest
	}
	switch {
	case c.Name == "" || c.IP == "" || c.token == "":
		return c, fmt.Errorf("%s has no node-name, node-ip or token-file", configFile)
	case c.ClusterInit && (c.Server != "" || agent):
		return c, fmt.Errorf("%s has cluster-init for a machine that joins", configFile)
	case !c.ClusterInit && c.Server == "":
		return c, fmt.Errorf("%s has neither cluster-init nor server", configFile)
	}
	return c, nil
}

// joinPort is where servers answer machines that join. k3s does it at the port of the API server.
const joinPort = "6444"

// joinAddress returns the server to join.
func (c config) joinAddress() (string, error) {
	u, err := url.Parse(c.Server)
	if err != nil {
		return "", err
	}
	return "https://" + u.Hostname() + ":" + joinPort, nil
}
