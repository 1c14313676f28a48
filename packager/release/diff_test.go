package release_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
	"github.com/toskose/toskose/spec"
)

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// version is an application with its files and configuration.
type version struct {
	app     *spec.Application
	archive fstest.MapFS
	cfg     config.Config
	tls     bool
	pinned  bool // images are named by what is in them
	compose compose.Options
	cluster kubernetes.Options
}

func shop() version {
	return version{
		app: sample.App(), archive: sample.Archive(),
		compose: compose.Options{EndpointMode: compose.EndpointVIP, PublishMode: compose.PublishIngress},
		cluster: kubernetes.Options{ServiceType: kubernetes.ServiceNodePort, ClusterDomain: kubernetes.DefaultClusterDomain},
	}
}

// packaged writes a version for all targets.
func packaged(t *testing.T, v version) string {
	t.Helper()
	plan, err := packager.New(v.app, v.archive, v.cfg, packager.Options{AllowHost: sample.Host, Version: "1.2.3", TLS: v.tls})
	if err != nil {
		t.Fatal(err)
	}
	if v.pinned {
		plan = pinned(plan, v.archive)
	}
	dir := t.TempDir()
	if err := output.Write(dir, plan, output.Options{Random: zeros{}, Now: time.Now(), Targets: []output.Target{
		compose.Target(v.compose), kubernetes.Target(v.cluster),
	}}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// difference compares two versions, as they are deployed to a target.
func difference(t *testing.T, target release.Target, from, to version) release.Diff {
	t.Helper()
	a, err := release.Read(packaged(t, from), target)
	if err != nil {
		t.Fatal(err)
	}
	b, err := release.Read(packaged(t, to), target)
	if err != nil {
		t.Fatal(err)
	}
	d := release.Compare(a, b)
	d.From, d.To, d.Target = "", "", ""
	return d
}

var targets = []release.Target{release.Compose, release.Swarm, release.Kubernetes}

// lines are what differs, one text each.
func lines(d release.Diff) (all []string) {
	for _, c := range d.Containers {
		all = append(all, "container "+c.Name+" "+c.Change)
		for _, x := range c.Changes {
			all = append(all, c.Name+" "+strings.Join(slices.DeleteFunc([]string{x.What, x.From, x.To}, func(s string) bool { return s == "" }), " | "))
		}
	}
	for _, c := range d.Components {
		line := "component " + c.Name + " in " + c.Container + " " + c.Change
		if c.Again {
			line += " (to be created)"
		}
		all = append(all, line)
		for _, what := range c.What {
			all = append(all, c.Name+" "+what)
		}
	}
	for _, v := range d.Volumes {
		all = append(all, "volume "+v.Name+" "+v.Change)
	}
	return all
}

func TestReleasesDifferInWhatAnAdministratorHasToKnow(t *testing.T) {
	t.Parallel()
	all := func(lines ...string) map[release.Target][]string {
		return map[release.Target][]string{release.Compose: lines, release.Swarm: lines, release.Kubernetes: lines}
	}
	for name, tt := range map[string]struct {
		change func(*version)
		want   map[release.Target][]string
	}{
		"nothing": {func(*version) {}, all()},
		"a variable": {func(v *version) { v.app.Nodes[0].Env["MODE"] = "no" }, all(
			"container backend replaced", "backend env MODE | yes | no",
			"component api in backend created again (to be created)", "component viewer in backend created again (to be created)",
		)},
		"a script": {func(v *version) { v.archive["viewer.sh"].Data = []byte("#!/bin/sh\necho new\n") }, all(
			"component viewer in backend changed", "viewer files",
		)},
		"an image": {func(v *version) { v.app.Nodes[2].Image.Name = "redis:8" }, all(
			"container store replaced", "store image | redis:7 | redis:8",
		)},
		"replicas": {func(v *version) {
			n := 3
			v.cfg.Nodes = map[string]config.Node{"frontend": {Deploy: config.Deploy{Replicas: &n}}}
		}, map[release.Target][]string{
			release.Compose: {"container frontend updated", "frontend deploy.replicas | 3"}, release.Swarm: {"container frontend updated", "frontend deploy.replicas | 3"},
			release.Kubernetes: {"container frontend updated", "frontend workload.replicas | 1 | 3"},
		}},
		"a protocol": {func(v *version) {
			p := &v.app.Components[1].Protocol
			p.Transitions = p.Transitions[:2]
		}, all(
			"component gui in frontend changed", "gui transition running -> created by Standard.stop removed",
		)},
		"an operation": {func(v *version) {
			o := &v.app.Components[2].Interfaces[0].Operations[0]
			o.Inputs[2].Value = "4"
		}, all(
			"component viewer in backend changed", "viewer operation Standard.start",
		)},
		"settings": {func(v *version) {
			v.cfg.Nodes = map[string]config.Node{"backend": {Components: map[string]config.Component{"viewer": {Output: "json"}}}}
		}, all("component viewer in backend changed", "viewer settings in toskose.yml")},
		"a volume": {func(v *version) {
			v.app.Nodes[2].Storage = nil
			v.app.Volumes = nil
		}, map[release.Target][]string{
			release.Compose: {"container store replaced", "store mount /data | dbvolume", "volume dbvolume removed"},
			release.Swarm: {
				"container store replaced", "store mount /data | dbvolume", "store volume dbvolume.driver | local",
				"store volume dbvolume.driver_opts.type | tmpfs", "volume dbvolume removed",
			},
			release.Kubernetes: {
				"container store replaced", "store kind | StatefulSet | Deployment", "store mount /data | volume-dbvolume",
				"store volume volume-dbvolume.persistentVolumeClaim.claimName | dbvolume", "store workload.podManagementPolicy | Parallel",
				"store workload.serviceName | store", "volume dbvolume removed",
			},
		}},
	} {
		for _, target := range targets {
			t.Run(name+" "+string(target), func(t *testing.T) {
				t.Parallel()
				to := shop()
				tt.change(&to)
				d := difference(t, target, shop(), to)
				if diff := cmp.Diff(tt.want[target], lines(d)); diff != "" {
					t.Error(diff)
				}
				if d.Same() != (name == "nothing") {
					t.Error("it says that they are the same")
				}
			})
		}
	}
}

func TestContainersAndComponentsComeAndGo(t *testing.T) {
	t.Parallel()
	without := shop()
	without.app.Nodes = without.app.Nodes[:1]
	without.app.Volumes, without.app.Components = nil, []spec.Component{without.app.Components[0]}
	without.app.Components[0].Connections = nil
	for _, target := range targets {
		gone, came := lines(difference(t, target, shop(), without)), lines(difference(t, target, without, shop()))
		for _, want := range []string{"container frontend removed", "container store removed", "component gui in frontend removed", "component viewer in backend removed", "volume dbvolume removed"} {
			if !slices.Contains(gone, want) {
				t.Errorf("%s: nothing says %q in %q", target, want, gone)
			}
		}
		for _, want := range []string{"container frontend added", "component gui in frontend added (to be created)", "volume dbvolume added"} {
			if !slices.Contains(came, want) {
				t.Errorf("%s: nothing says %q in %q", target, want, came)
			}
		}
	}
}

func TestPathsOfTheHostAreListed(t *testing.T) {
	t.Parallel()
	without := shop()
	without.app.Nodes[0].Shares = nil
	used := packager.HostPath{Path: "/srv/shop", User: `container "backend" at /etc/shop`}
	for _, target := range targets {
		if got, want := difference(t, target, shop(), shop()).Host, []release.HostUse{{HostPath: used}}; !slices.Equal(got, want) {
			t.Errorf("%s: nothing differs, and it uses %v, want %v", target, got, want)
		}
		if got, want := difference(t, target, without, shop()).Host, []release.HostUse{{HostPath: used, Added: true}}; !slices.Equal(got, want) {
			t.Errorf("%s: it is added, and %v are used, want %v", target, got, want)
		}
	}
}

func TestSecretsDifferByNameOnly(t *testing.T) {
	t.Parallel()
	to := shop()
	to.cfg.Nodes = map[string]config.Node{"frontend": {Password: "hush-unit"}}
	for _, target := range targets {
		d := difference(t, target, shop(), to)
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "hush") || !strings.Contains(string(text), "secret frontend-password") && target != release.Swarm {
			t.Errorf("%s: %s", target, text)
		}
		if want := map[release.Target]string{release.Compose: release.Updated, release.Kubernetes: release.Updated}[target]; want != "" && d.Containers[0].Change != want {
			t.Errorf("%s: %s is %s, want %s", target, d.Containers[0].Name, d.Containers[0].Change, want)
		}
	}
}

// Below a level, an application has the same containers: the operator makes them.
func TestBelowALevelAReleaseIsComparedByItsWorkloads(t *testing.T) {
	t.Parallel()
	below := shop()
	below.cluster.Under = "asset/robot-1"
	if got := lines(difference(t, release.Kubernetes, shop(), below)); len(got) > 0 {
		t.Errorf("the level makes a difference:\n%s", strings.Join(got, "\n"))
	}
	changed := shop()
	changed.cluster.Under, changed.cluster.PullSecret = "asset/robot-1", "registry"
	if got := lines(difference(t, release.Kubernetes, below, changed)); len(got) == 0 {
		t.Error("a changed pod makes no difference")
	}
}
