package packager

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/diag"
)

// HostPath is a path of the machine that runs a container: a folder, a device or the engine's
// socket. A container that can write there may be able to take over the machine.
type HostPath struct {
	Path string `yaml:"path" json:"path"`
	User string `yaml:"user" json:"user"` // the container or volume that uses it, for display
}

func (h HostPath) String() string { return fmt.Sprintf("%s, by %s", h.Path, h.User) }

// hostPaths finds the paths of the host that the application uses. An archive cannot grant access
// to a host: the user must allow each path on the command line or in toskose.yml.
func (p *planner) hostPaths(volumes []spec.Volume) {
	for _, n := range p.app.Nodes {
		for _, share := range n.Shares {
			p.hostPath(HostPath{share.Host, fmt.Sprintf("container %q at %s", n.Name, share.Container)}, p.opts.Places[tosca.ShareOf(n.Name, share.Container)])
		}
	}
	for _, v := range volumes {
		cfg := p.plan.Config.Volumes[v.Name]
		planned := volume(v, cfg)
		if device := planned.Options["device"]; config.IsBind(planned.Options) && device != "" && !path.IsAbs(device) {
			place := ""
			if at := p.opts.Places[tosca.OptionsOf(v.Name)]; at.Line > 0 {
				place = at.String() + ": "
			}
			p.report("%svolume %q: device %q is not an absolute path: no folder of the host is known that it could be relative to", place, v.Name, device)
		}
		for _, option := range hostOptions(planned.Options) {
			used := HostPath{planned.Options[option], fmt.Sprintf("volume %q", v.Name)}
			if cfg.DriverOpts[option] != "" { // overridden by toskose.yml
				p.plan.Host = append(p.plan.Host, used)
				continue
			}
			p.hostPath(used, p.opts.Places[tosca.OptionsOf(v.Name)])
		}
	}
}

func (p *planner) hostPath(used HostPath, at diag.Position) {
	if !allowsHost(slices.Concat(p.opts.AllowHost, p.plan.Config.AllowHost), used.Path) {
		place := ""
		if at.Line > 0 {
			place = at.String() + ": "
		}
		p.report("%s%s uses %q of its host, which is not allowed; if you trust the archive with it, package with --allow-host %s, or list the path under allow_host in toskose.yml",
			place, used.User, used.Path, used.Path)
		return
	}
	p.plan.Host = append(p.plan.Host, used)
}

// networkVolumes are volume types whose device is on another machine or in memory.
var networkVolumes = []string{"nfs", "nfs4", "cifs", "smb3", "tmpfs", "ceph", "glusterfs"}

// hostOptions returns the options of a volume that name a path of the host, sorted.
func hostOptions(options map[string]string) []string {
	if slices.Contains(networkVolumes, options["type"]) && !config.IsBind(options) {
		return nil
	}
	var all []string
	for option, value := range options {
		if strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "//") {
			all = append(all, option)
		}
	}
	slices.Sort(all)
	return all
}

// allowsHost reports whether a path, or a folder that it is in, is allowed.
func allowsHost(allowed []string, used string) bool {
	return slices.ContainsFunc(allowed, func(one string) bool {
		one, used := path.Clean(one), path.Clean(used)
		return used == one || path.IsAbs(one) && strings.HasPrefix(used, strings.TrimSuffix(one, "/")+"/")
	})
}
