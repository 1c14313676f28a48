package config

import (
	"path/filepath"
	"slices"
)

// HostKeys returns the settings, sorted, that can give an application access to its host beyond its containers, or that read
// files outside the folder of the configuration. Whoever packages the application must have chosen them.
func (c Config) HostKeys() (keys []string) {
	if len(c.AllowHost) > 0 {
		keys = append(keys, "allow_host")
	}
	for name, n := range c.Nodes {
		if !n.Compose.IsZero() {
			keys = append(keys, "nodes."+name+".compose")
		}
		if !n.Kubernetes.Patch.IsZero() {
			keys = append(keys, "nodes."+name+".kubernetes")
		}
	}
	for name, v := range c.Volumes {
		if v.External || v.Driver != "" || len(v.DriverOpts) > 0 {
			keys = append(keys, "volumes."+name)
		}
	}
	for key, file := range map[string]string{
		"manager.tls.certificate": c.Manager.TLS.Certificate, "manager.tls.key": c.Manager.TLS.Key, "manager.client_ca": c.Manager.ClientCA,
	} {
		if file != "" && !filepath.IsLocal(file) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
