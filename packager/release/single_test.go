package release_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/release"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// pinned names images by what is in them, as packaging does.
func pinned(plan *packager.Plan, archive fstest.MapFS) *packager.Plan {
	return plan.Pinned(func(ref string) (name, user string) {
		for _, i := range plan.Images {
			if i.Name != ref {
				continue
			}
			sum := sha256.New()
			_ = json.NewEncoder(sum).Encode(i)
			for _, f := range i.Files {
				if f.Source != "" {
					sum.Write(archive[f.Source].Data)
				}
			}
			return fmt.Sprintf("%s-%x", ref, sum.Sum(nil)[:4]), ""
		}
		return ref, ""
	})
}

// full is the shop with a job, limits, a placement, a secret and a release that is packaged
// as others are.
func full() version {
	v := shop()
	v.pinned = true
	script := spec.Operation{Name: "run", Script: "viewer.sh"}
	v.app.Nodes = append(v.app.Nodes, spec.Node{Name: "toolbox", Type: "tosker.nodes.Container", Image: v.app.Nodes[0].Image, Protocol: protocol.Container(), Depends: []string{"store"}})
	v.app.Components = append(v.app.Components, spec.Component{
		Name: "migrate", Type: "toskose.nodes.Task", Host: "toolbox", Node: "toolbox", Protocol: protocol.Task(),
		Interfaces: []spec.Interface{{Name: "Task", Operations: []spec.Operation{script}}},
		Task:       &spec.Task{Completions: 3, Parallelism: 2, BackoffLimit: 4, Rerun: spec.RerunReplaced},
	})
	v.app.Nodes[0].Env["TOKEN"] = "hush-token"
	v.cfg.Secrets = []string{"backend.TOKEN"}
	v.cfg.Manager.Password, v.cfg.Manager.SecretKey = "hush-manager", "hush-key"
	v.cfg.Nodes = map[string]config.Node{
		"backend": {Password: "hush-backend", Components: map[string]config.Component{"api": {StopGrace: "5s"}}},
		"frontend": {Password: "hush-frontend", Deploy: config.Deploy{
			Resources: config.Resources{Limits: config.Amounts{Memory: "256m"}},
			Placement: config.Placement{Constraints: []string{"node.labels.disk == ssd"}},
			Labels:    map[string]string{"team": "shop"},
		}},
		"toolbox": {Job: true},
	}
	return v
}

// node changes what toskose.yml says of a container.
func (v *version) node(name string, change func(*config.Node)) {
	n := v.cfg.Nodes[name]
	change(&n)
	v.cfg.Nodes[name] = n
}

// single is one change, and what is named on each target: texts that one line each has.
// A target that is left out deploys the same.
type single struct {
	change func(*version)
	named  map[release.Target][]string
}

func everywhere(named ...string) map[release.Target][]string {
	return map[release.Target][]string{release.Compose: named, release.Swarm: named, release.Kubernetes: named}
}

func onEngines(named ...string) map[release.Target][]string {
	return map[release.Target][]string{release.Compose: named, release.Swarm: named}
}

func three(onCompose, onSwarm, onKubernetes string) map[release.Target][]string {
	all := map[release.Target][]string{}
	for target, named := range map[release.Target]string{release.Compose: onCompose, release.Swarm: onSwarm, release.Kubernetes: onKubernetes} {
		if named != "" {
			all[target] = []string{named}
		}
	}
	return all
}

func deployOf(name string, change func(*config.Deploy)) func(*version) {
	return func(v *version) { v.node(name, func(n *config.Node) { change(&n.Deploy) }) }
}

func componentOf(name string, change func(*config.Component)) func(*version) {
	return func(v *version) {
		v.node("backend", func(n *config.Node) {
			c := n.Components[name]
			change(&c)
			n.Components = map[string]config.Component{"api": n.Components["api"], name: c}
		})
	}
}

// manager is said where something has changed that is in the manager's image: toskose.yml and
// the model.
const manager = "toskose-manager image"

// singles are changes that are made between two releases.
func singles() map[string]single {
	return map[string]single{
		"a variable":            {func(v *version) { v.app.Nodes[0].Env["MODE"] = "no" }, everywhere("backend env MODE | yes | no")},
		"an empty variable":     {func(v *version) { v.app.Nodes[0].Env["FOO"] = "" }, everywhere(`backend env FOO | ""`)},
		"a variable is emptied": {func(v *version) { v.app.Nodes[0].Env["MODE"] = "" }, everywhere(`backend env MODE | yes | ""`)},
		"a variable went":       {func(v *version) { delete(v.app.Nodes[0].Env, "MODE") }, everywhere("backend env MODE | yes")},
		"a command":             {func(v *version) { v.app.Nodes[2].Command = "redis-server" }, three("store command", "store command", "store container.args")},
		"an image":              {func(v *version) { v.app.Nodes[2].Image.Name = "redis:8" }, everywhere("store image | redis:7 | redis:8")},
		"a base":                {func(v *version) { v.app.Nodes[0].Image.Name = "python:3.12" }, everywhere("backend image")},
		"another published port": {
			func(v *version) { v.app.Nodes[0].Ports[0].Host = 8081 }, three("backend port 8000/tcp | 8080 | 8081", "backend port 8000/tcp | 8080 | 8081", "backend port 8000/tcp | 8080 | 8081"),
		},
		"another port inside": {func(v *version) { v.app.Nodes[0].Ports[0].Container = 8001 }, everywhere("backend port 8001/tcp | 8080", "backend port 8000/tcp | 8080")},
		"a port came": {func(v *version) {
			v.app.Nodes[2].Ports = []spec.Port{{Container: 6379, Host: 6379, Protocol: "tcp"}}
		}, everywhere("store port 6379/tcp | 6379")},
		"a port went":      {func(v *version) { v.app.Nodes[1].Ports = nil }, everywhere("frontend port 53/udp | 5353")},
		"another protocol": {func(v *version) { v.app.Nodes[1].Ports[0].Protocol = "tcp" }, everywhere("frontend port 53/tcp | 5353", "frontend port 53/udp | 5353")},
		"manager.bind":     {func(v *version) { v.cfg.Manager.Bind = "0.0.0.0" }, three("toskose-manager port 10000/tcp | 127.0.0.1:10000 | 0.0.0.0:10000", "", "")},
		"manager.port":     {func(v *version) { v.cfg.Manager.Port = 11000 }, everywhere("toskose-manager port 11000/tcp")},
		"a mode of ports":  {func(v *version) { v.compose.PublishMode = compose.PublishHost }, onEngines("backend port 8000/tcp | 8080 | 8080, of its machine only")},
		"another way to it": {func(v *version) {
			v.compose.EndpointMode, v.compose.PublishMode = compose.EndpointDNSRR, compose.PublishHost
		}, onEngines("store deploy.endpoint_mode | vip | dnsrr")},
		"a type of Services":  {func(v *version) { v.cluster.ServiceType = kubernetes.ServiceLoadBalancer }, three("", "", "backend Service backend-public.type | NodePort | LoadBalancer")},
		"another namespace":   {func(v *version) { v.cluster.Namespace = "prod" }, three("", "", "store namespace | my-shop | prod")},
		"a Secret for images": {func(v *version) { v.cluster.PullSecret = "pull" }, three("", "", "store pod.imagePullSecrets")},
		"replicas":            {deployOf("frontend", func(d *config.Deploy) { d.Replicas = ptr(3) }), three("frontend deploy.replicas | 3", "frontend deploy.replicas | 3", "frontend workload.replicas | 1 | 3")},
		"a limit":             {deployOf("frontend", func(d *config.Deploy) { d.Resources.Limits.Memory = "1g" }), three("deploy.resources.limits.memory | 256m | 1g", "deploy.resources.limits.memory | 256m | 1g", "container.resources.limits.memory")},
		"a limit came":        {deployOf("backend", func(d *config.Deploy) { d.Resources.Limits.CPUs = "0.5" }), three("backend deploy.resources.limits.cpus | 0.5", "backend deploy.resources.limits.cpus | 0.5", "backend container.resources.limits.cpu | 0.5")},
		"a reservation":       {deployOf("backend", func(d *config.Deploy) { d.Resources.Reservations.Memory = "64m" }), three("deploy.resources.reservations.memory | 64m", "deploy.resources.reservations.memory | 64m", "container.resources.requests.memory | 67108864")},
		"a place": {deployOf("frontend", func(d *config.Deploy) { d.Placement.Constraints = []string{"node.labels.disk == hdd"} }), map[release.Target][]string{
			release.Compose: {"frontend deploy.placement.constraints", "container frontend replaced"}, release.Kubernetes: {"frontend pod.affinity", "container frontend replaced"},
			release.Swarm: {"frontend deploy.placement.constraints", "container frontend replaced if moved"},
		}},
		"a preferred place":   {deployOf("backend", func(d *config.Deploy) { d.Placement.Preferences = []config.Preference{{Spread: "node.labels.zone"}} }), three("deploy.placement.preferences", "deploy.placement.preferences", "pod.topologySpreadConstraints")},
		"starting again":      {deployOf("store", func(d *config.Deploy) { d.RestartPolicy.Condition = "on-failure" }), three("store restart | unless-stopped | on-failure", "store deploy.restart_policy.condition | any | on-failure", "")},
		"an order of updates": {deployOf("backend", func(d *config.Deploy) { d.UpdateConfig.Order = "start-first" }), three("deploy.update_config.order | start-first", "deploy.update_config.order | start-first", "workload.strategy.rollingUpdate.maxSurge")},
		"a way back":          {deployOf("backend", func(d *config.Deploy) { d.RollbackConfig.Parallelism = ptr(2) }), three("deploy.rollback_config.parallelism | 2", "deploy.rollback_config.parallelism | 2", "")},
		"a label":             {deployOf("frontend", func(d *config.Deploy) { d.Labels = map[string]string{"team": "sales"} }), three("frontend labels.team | shop | sales", "frontend deploy.labels.team | shop | sales", "frontend annotations.team | shop | sales")},
		"a stop grace":        {componentOf("api", func(c *config.Component) { c.StopGrace = "1m" }), three("backend stop_grace_period | 25s | 125s", "backend stop_grace_period | 25s | 125s", "backend pod.terminationGracePeriodSeconds | 25 | 125")},
		"a user":              {componentOf("viewer", func(c *config.Component) { c.User = "nobody" }), everywhere("viewer settings in toskose.yml", "backend image")},
		"readiness":           {componentOf("viewer", func(c *config.Component) { c.Readiness.TCP = "8000" }), everywhere("viewer settings in toskose.yml", "backend image")},
		"logs":                {componentOf("viewer", func(c *config.Component) { c.Logs.Size = "1m" }), everywhere("viewer settings in toskose.yml", "backend image")},
		"room for logs":       {func(v *version) { v.node("frontend", func(n *config.Node) { n.Logs.Total = "128m" }) }, everywhere("frontend image")},
		"a level":             {func(v *version) { v.node("frontend", func(n *config.Node) { n.LogLevel = "debug" }) }, everywhere("frontend env SUPERVISORD_LOG_LEVEL | INFO | debug")},
		"a unit's port":       {func(v *version) { v.node("frontend", func(n *config.Node) { n.Port = 9100 }) }, everywhere("frontend env SUPERVISORD_PORT | 9003 | 9100")},
		"a unit's user":       {func(v *version) { v.node("frontend", func(n *config.Node) { n.User = "ada" }) }, everywhere("frontend env SUPERVISORD_USER | admin | ada")},
		"replicas away":       {func(v *version) { v.node("frontend", func(n *config.Node) { n.MaxUnavailable = 2 }) }, everywhere(manager)},
		"marks":               {func(v *version) { v.node("frontend", func(n *config.Node) { n.CoredumpMark = ptr(false) }) }, everywhere("frontend image")},
		"another name":        {func(v *version) { v.node("frontend", func(n *config.Node) { n.Alias = "web" }) }, three("frontend networks.toskose.aliases", "frontend networks.toskose.aliases", "frontend Service web")},
		"a title":             {func(v *version) { v.cfg.Title = "The shop" }, nil},
		"manager.goal":        {func(v *version) { v.cfg.Manager.Goal = "up" }, everywhere(manager)},
		"manager.env": {func(v *version) {
			v.cfg.Manager.Env = map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel:4318"}
		}, everywhere("toskose-manager env OTEL_EXPORTER_OTLP_ENDPOINT")},
		"manager.mode":      {func(v *version) { v.cfg.Manager.Mode = "testing" }, everywhere("toskose-manager env TOSKOSE_APP_MODE | production | testing")},
		"manager.user":      {func(v *version) { v.cfg.Manager.User = "eve" }, everywhere("toskose-manager env TOSKOSE_MANAGER_USER | admin | eve")},
		"TLS":               {func(v *version) { v.tls = true }, everywhere("toskose-manager env TOSKOSE_TLS_CERT", "frontend secret")},
		"a unit's password": {func(v *version) { v.node("frontend", func(n *config.Node) { n.Password = "hush-other" }) }, three("frontend secret frontend-password | another value", "", "frontend secret frontend-password | another value")},
		"manager.password":  {func(v *version) { v.cfg.Manager.Password = "hush-other" }, three("toskose-manager secret manager-password | another value", "", "toskose-manager secret manager-password | another value")},
		"a secret": {
			func(v *version) { v.app.Nodes[0].Env["TOKEN"] = "hush-other" },
			three("backend secret backend.TOKEN | another value", "", "backend secret backend-token | another value"),
		},
		"a secret came": {func(v *version) {
			v.cfg.Secrets = append(v.cfg.Secrets, "backend.MODE")
		}, everywhere("backend env MODE | yes", "backend secret backend")},
		"a secret of an input": {func(v *version) {
			v.cfg.Secrets = append(v.cfg.Secrets, "viewer.level")
		}, everywhere("backend secret viewer", "viewer operation Standard.start")},
		"a script":    {func(v *version) { v.archive["viewer.sh"].Data = []byte("#!/bin/sh\necho new\n") }, everywhere("viewer files", "backend image", "toolbox image")},
		"an artifact": {func(v *version) { v.archive["data/defaults.csv"].Data = []byte("c\n") }, everywhere("api files", "backend image")},
		"an input":    {func(v *version) { v.app.Components[2].Interfaces[0].Operations[0].Inputs[2].Value = "4" }, everywhere("viewer operation Standard.start", "backend image")},
		"a time":      {func(v *version) { v.app.Components[0].Interfaces[1].Operations[0].Timeout = 90 }, everywhere("api operation api_interface.push_default", "backend image")},
		"a protocol": {func(v *version) {
			v.app.Components[1].Protocol.Transitions = v.app.Components[1].Protocol.Transitions[:2]
		}, everywhere("gui transition running -> created by Standard.stop removed")},
		"a requirement":    {func(v *version) { v.app.Components[2].Depends = nil }, everywhere("viewer what it requires")},
		"a connection":     {func(v *version) { v.app.Components[1].Connections = []string{"api", "store"} }, everywhere("gui what it requires")},
		"a job's numbers":  {func(v *version) { v.app.Components[3].Task.Completions = 5 }, three("toolbox image", "toolbox image", "toolbox job")},
		"a job's attempts": {func(v *version) { v.app.Components[3].Task.BackoffLimit = 2 }, three("toolbox restart | on-failure:4 | on-failure:2", "toolbox deploy.restart_policy.max_attempts | 4 | 2", "toolbox job")},
		"a Task's numbers": {func(v *version) { v.node("toolbox", func(n *config.Node) { n.Job = false }) }, everywhere("toolbox image", "component migrate in toolbox added (to be created)")},
		"a volume's options": {func(v *version) {
			v.cfg.Volumes = map[string]config.Volume{"dbvolume": {Driver: "local", DriverOpts: map[string]string{"type": "nfs", "size": "5Gi"}}}
		}, map[release.Target][]string{
			release.Compose: {"volume dbvolume changed"}, release.Kubernetes: {"volume dbvolume changed"},
			release.Swarm: {"volume dbvolume changed", "store volume dbvolume.driver_opts.type | tmpfs | nfs"},
		}},
		"a place of a volume": {func(v *version) { v.app.Nodes[2].Storage[0].Location = "/var/data" }, everywhere("store mount /var/data", "store mount /data")},
		"a volume came": {func(v *version) {
			v.app.Volumes = append(v.app.Volumes, spec.Volume{Name: "more"})
			v.app.Nodes[0].Storage = []spec.Storage{{Volume: "more", Location: "/more"}}
		}, everywhere("backend mount /more", "volume more added")},
		"a share that is read-only":    {func(v *version) { v.app.Nodes[0].Shares[0].ReadOnly = true }, three("backend mount /etc/shop | /srv/shop | /srv/shop, ro", "backend mount /etc/shop | /srv/shop | /srv/shop, ro", "backend mount /etc/shop")},
		"a share with a SELinux label": {func(v *version) { v.app.Nodes[0].Shares[0].Relabel = "Z" }, map[release.Target][]string{release.Compose: {"backend mount /etc/shop | /srv/shop | /srv/shop, Z"}, release.Swarm: {manager}, release.Kubernetes: {manager}}},
		"a share":                      {func(v *version) { v.app.Nodes[0].Shares[0].Host = "/srv/other" }, three("backend mount /etc/shop | /srv/shop | /srv/other", "backend mount /etc/shop | /srv/shop | /srv/other", "backend volume host-0.hostPath.path")},
		"a port's address": {
			func(v *version) {
				v.node("backend", func(n *config.Node) { n.Ports = config.Ports{"127.0.0.1:8080:8000"} })
			},
			map[release.Target][]string{release.Compose: {"backend port 8000/tcp | 8080 | 127.0.0.1:8080"}, release.Swarm: {"backend port 8000/tcp"}, release.Kubernetes: {manager}},
		},
		"an external volume": {func(v *version) {
			v.cfg.Volumes = map[string]config.Volume{"dbvolume": {External: true, Name: "theirs"}}
		}, everywhere("volume dbvolume")},
		"a key of Compose": {func(v *version) {
			v.node("backend", func(n *config.Node) {
				n.Compose = sample.Fragment("{cap_add: [NET_ADMIN], tmpfs: /scratch, ulimits: {nproc: 4}, environment: {EXTRA: x}}")
			})
		}, map[release.Target][]string{
			release.Compose: {`backend cap_add | ["NET_ADMIN"]`, "backend ulimits.nproc | 4", "backend env EXTRA | x"}, release.Swarm: {`backend cap_add | ["NET_ADMIN"]`},
		}},
		"a key of Compose that a Swarm ignores": {func(v *version) {
			v.node("backend", func(n *config.Node) { n.Compose = sample.Fragment("{tmpfs: /scratch}") })
		}, map[release.Target][]string{release.Compose: {"backend tmpfs | /scratch"}}},
		"a patch on Kubernetes": {func(v *version) {
			v.node("backend", func(n *config.Node) {
				n.Kubernetes.Patch = sample.Fragment("{spec: {template: {spec: {priorityClassName: high, containers: [{name: log, image: busybox}]}}}}")
			})
		}, map[release.Target][]string{release.Kubernetes: {"backend pod.priorityClassName | high", "backend container log.image | busybox"}}},
		"a patch of a job": {func(v *version) {
			v.node("toolbox", func(n *config.Node) { n.Kubernetes.Patch = sample.Fragment("{metadata: {annotations: {a: b}}}") })
		}, map[release.Target][]string{release.Kubernetes: {"toolbox job"}}},
		"encryption": {func(v *version) { v.compose.Encrypted = true }, nil},
	}
}

func ptr[T any](v T) *T { return &v }

// TestEachChangeIsNamedAndReplacesWhatItReplaces compares, on each target, what is said with
// what makes each target replace a container.
func TestEachChangeIsNamedAndReplacesWhatItReplaces(t *testing.T) {
	t.Parallel()
	from, before := packaged(t, full()), map[release.Target]map[string]string{}
	for _, target := range targets {
		before[target] = decisive[target](t, from)
	}
	for name, tt := range singles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := full()
			tt.change(&v)
			to := packaged(t, v)
			for _, target := range targets {
				d := compared(t, target, from, to)
				said := lines(d)
				for _, want := range tt.named[target] {
					if !slices.ContainsFunc(said, func(line string) bool { return strings.Contains(line, want) }) {
						t.Errorf("%s: nothing says %q in\n%s", target, want, strings.Join(said, "\n"))
					}
				}
				if len(tt.named[target]) == 0 && !d.Same() {
					t.Errorf("%s: it deploys the same, and is said to differ:\n%s", target, strings.Join(said, "\n"))
				}
				if text, _ := json.Marshal(d); strings.Contains(string(text), "hush") {
					t.Errorf("%s: it shows a secret: %s", target, text)
				}
				if diff := cmp.Diff(replacedBy(t, target, before[target], to), d.Replaced()); diff != "" {
					t.Errorf("%s: replaced are (-really +said)\n%s%s", target, diff, strings.Join(said, "\n"))
				}
			}
		})
	}
}

func compared(t *testing.T, target release.Target, from, to string) release.Diff {
	t.Helper()
	a, err := release.Read(from, target)
	if err != nil {
		t.Fatal(err)
	}
	b, err := release.Read(to, target)
	if err != nil {
		t.Fatal(err)
	}
	return release.Compare(a, b)
}

func file(t *testing.T, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
