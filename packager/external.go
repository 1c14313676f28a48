package packager

import (
	"encoding/json"
	"maps"
	"slices"
)

// ExternalVolumes returns the names of the external volumes on the engine or cluster, by their names in the application.
func (p *Plan) ExternalVolumes() map[string]string {
	var all map[string]string
	for _, v := range p.Volumes {
		if v.Existing == "" {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[v.Name] = v.Existing
	}
	return all
}

// ExternalLabel returns the value of [LabelExternal] for a service, or "" if it mounts no external volume.
func (p *Plan) ExternalLabel(s Service) string {
	all := p.ExternalVolumes()
	maps.DeleteFunc(all, func(name, _ string) bool {
		return !slices.ContainsFunc(s.Mounts, func(m Mount) bool { return m.Volume == name })
	})
	if len(all) == 0 {
		return ""
	}
	data, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(data)
}

// ReadExternal returns the volumes in [LabelExternal] of a container or workload. Unreadable values count as none.
func ReadExternal(labels map[string]string) map[string]string {
	var all map[string]string
	if json.Unmarshal([]byte(labels[LabelExternal]), &all) != nil {
		return nil
	}
	return all
}

// checkVolumes rejects external volumes that another volume of the application is, too.
func (p *planner) checkVolumes() {
	taken := map[string]string{}
	for _, v := range p.plan.Volumes {
		if v.Existing == "" {
			taken[p.plan.App+"_"+v.Name] = v.Name // as Compose and Swarm name it
		}
	}
	for _, v := range p.plan.Volumes {
		if v.Existing == "" {
			continue
		}
		if other, ok := taken[v.Existing]; ok {
			p.report("volume %q: the external volume %q is the application's volume %q, too", v.Name, v.Existing, other)
		}
		taken[v.Existing] = v.Name
	}
}
