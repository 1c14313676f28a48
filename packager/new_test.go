package packager_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
)

func plan(t *testing.T, app *spec.Application, cfg config.Config) *packager.Plan {
	t.Helper()
	p, err := packager.New(app, sample.Archive(), cfg, packager.Options{AllowHost: sample.Host, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func image(t *testing.T, p *packager.Plan, node string) packager.Image {
	t.Helper()
	for _, i := range p.Images {
		if i.Node == node {
			return i
		}
	}
	t.Fatalf("no image for %q", node)
	return packager.Image{}
}

func service(t *testing.T, p *packager.Plan, name string) packager.Service {
	t.Helper()
	for _, s := range p.Services {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no service %q", name)
	return packager.Service{}
}

func TestTheUnitsConfigurationHasEveryOperation(t *testing.T) {
	t.Parallel()
	p := plan(t, sample.App(), config.Config{})
	for _, node := range []string{"backend", "frontend"} {
		for _, f := range image(t, p, node).Files {
			switch f.Path {
			case packager.UnitConfPath:
				sample.Golden(t, node+".supervisord.conf", f.Data)
			case packager.ContainerPath:
				sample.Golden(t, node+".container.json", f.Data)
			}
		}
	}
}

func TestFilesKeepTheirPathsAndBringTheirFolders(t *testing.T) {
	t.Parallel()
	p := plan(t, sample.App(), config.Config{})
	var list strings.Builder
	for _, i := range p.Images {
		fmt.Fprintf(&list, "%s on %q\n", i.Name, i.Base)
		for _, f := range i.Files {
			kind, owner := "-", "root"
			if f.Dir {
				kind = "d"
			}
			if f.Owned {
				owner = "base"
			}
			fmt.Fprintf(&list, "  %s%o %s %s\n", kind, f.Mode, owner, strings.TrimSuffix(f.Path+" < "+f.Source, " < "))
		}
	}
	sample.Golden(t, "files.txt", []byte(list.String()))
}

func TestServicesCarryAllThatTheModelSays(t *testing.T) {
	t.Parallel()
	p := plan(t, sample.App(), config.Config{})
	data, err := json.MarshalIndent(p.Services, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	sample.Golden(t, "services.json", append(data, '\n'))
}

func TestTheSameApplicationGivesTheSamePlan(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(plan(t, sample.App(), config.Config{}), plan(t, sample.App(), config.Config{})); diff != "" {
		t.Error(diff)
	}
}

func TestInputsAreInNoEnvironmentOfTheContainer(t *testing.T) {
	t.Parallel()
	app := sample.App()
	for i := range app.Nodes {
		if app.Nodes[i].Name == "backend" {
			app.Nodes[i].Env = map[string]string{"INPUT_OWN": "x"}
		}
	}
	p := plan(t, app, config.Config{})
	for name := range service(t, p, "backend").Env {
		if strings.HasPrefix(name, "INPUT_") && name != "INPUT_OWN" {
			t.Errorf("%s is in it", name)
		}
	}
	if !slices.ContainsFunc(p.Warnings, func(w string) bool {
		return strings.Contains(w, `environment variable "INPUT_OWN": no operation sees it`)
	}) {
		t.Errorf("the warnings are %q", p.Warnings)
	}
}

func TestWhatTheUserConfiguredIsKept(t *testing.T) {
	t.Parallel()
	cfg := config.Config{
		Nodes: map[string]config.Node{"backend": {
			Alias: "be", Port: 7000, User: "eve", Password: "given", LogLevel: "debug",
			Docker: config.Docker{Name: "reg.example/shop/be", Tag: "v1", BaseTag: "3.12"},
		}},
		Manager: config.Manager{Port: 11000, Mode: "testing", Docker: config.Docker{BaseImage: "mine/manager:2"}},
	}
	p := plan(t, sample.App(), cfg)
	backend := image(t, p, "backend")
	if backend.Name != "reg.example/shop/be:v1" || backend.Base != "python:3.12" {
		t.Errorf("image %q on %q", backend.Name, backend.Base)
	}
	want := map[string]string{"SUPERVISORD_ALIAS": "be", "SUPERVISORD_PORT": "7000", "SUPERVISORD_USER": "eve", "SUPERVISORD_LOG_LEVEL": "debug"}
	if diff := cmp.Diff(want, backend.Env); diff != "" {
		t.Error(diff)
	}
	if aliases := service(t, p, "backend").Aliases; !cmp.Equal(aliases, []string{"api", "be"}) {
		t.Errorf("aliases %q", aliases)
	}
	if m := image(t, p, ""); m.Base != "mine/manager:2" || p.Manager().UnitPort != 11000 {
		t.Errorf("manager on %q at %d", m.Base, p.Manager().UnitPort)
	}
}

func TestNoImageHoldsASecret(t *testing.T) {
	t.Parallel()
	cfg := config.Config{
		Nodes:   map[string]config.Node{"backend": {Password: "hush-unit", Docker: config.Docker{RegistryPassword: "hush-registry"}}},
		Manager: config.Manager{Password: "hush-manager", SecretKey: "hush-key"},
	}
	p := plan(t, sample.App(), cfg)
	for _, i := range p.Images {
		for _, f := range i.Files {
			if strings.Contains(string(f.Data), "hush") {
				t.Errorf("%s: %s holds a secret", i.Name, f.Path)
			}
		}
		if strings.Contains(fmt.Sprint(i.Env, i.Labels), "hush") {
			t.Errorf("%s: a secret in its environment or labels", i.Name)
		}
	}
	if strings.Contains(fmt.Sprint(p.Services), "hush") {
		t.Error("a secret in a service")
	}
}

func TestWhatCannotBePackagedIsSaid(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*spec.Application)
		want   string
	}{
		"a name that no program can have": {
			func(a *spec.Application) { a.Components[0].Name = "a:b" },
			`component "a:b": the name cannot be used for containers and programs`,
		},
		"a component named like a route": {
			func(a *spec.Application) { a.Components[2].Name = "log" },
			`component "log": the name is a route of the manager's API; rename the component`,
		},
		"an operation named like a route": {
			func(a *spec.Application) { a.Components[0].Interfaces[1].Operations[0].Name = "operations" },
			`operation "api_interface.operations": the name is a route of the manager's API`,
		},
		"a container named like a route": {
			func(a *spec.Application) { a.Nodes[2].Name = "reload" },
			`container "reload": the name is a route`,
		},
		"a container with the manager's name": {
			func(a *spec.Application) { a.Nodes[2].Name = "toskose-manager" },
			`container "toskose-manager": the name is reserved for the manager`,
		},
		"two programs of one name": {
			func(a *spec.Application) {
				a.Components[1].Name, a.Components[1].Connections = "api.Standard", nil
			},
			`it has the same program name "api.Standard.start" as "api Standard.start"`,
		},
		"an image by the name of another's base": {
			func(a *spec.Application) {
				a.Nodes[0].Image = spec.Image{Kind: spec.ImageFile, Name: "api/Dockerfile"}
				a.Nodes[2].Name = "backend-base"
				a.Nodes[2].Image = spec.Image{Kind: spec.ImageFileService, Name: "store/Dockerfile"}
				a.Components[0].Connections = nil
			},
			`image "my-shop-backend-base:latest": two containers would have this image`,
		},
		"a script that is not in the archive": {
			func(a *spec.Application) { a.Components[1].Interfaces[0].Operations[0].Script = "gui/none.sh" },
			`component "gui": script "gui/none.sh": is not in the archive`,
		},
		"two containers on one port of the host": {
			func(a *spec.Application) {
				a.Nodes[2].Ports = []spec.Port{{Container: 1, Host: 8080, Protocol: "tcp"}}
			},
			`container "store": port 8080 of the host is already published by the container backend`,
		},
		"a variable that is the unit's": {
			func(a *spec.Application) { a.Nodes[0].Env["SUPERVISORD_PORT"] = "1" },
			`environment variable "SUPERVISORD_PORT": the name is reserved for the unit`,
		},
		"a volume on a relative folder of the host": {
			func(a *spec.Application) {
				a.Volumes[0].Options = map[string]string{"type": "none", "o": "rw,bind", "device": "srv"}
			},
			`volume "dbvolume": device "srv" is not an absolute path: no folder of the host is known that it could be relative to`,
		},
		"a folder in the place of the unit's documents": {
			func(a *spec.Application) {
				a.Nodes[0].Shares = []spec.Share{{Container: "/toskose/documents/", Host: "/srv"}}
			},
			`container "backend": nothing can be mounted at /toskose/documents/, where the unit has its own volume`,
		},
		"a volume in the place of the unit's documents": {
			func(a *spec.Application) {
				a.Nodes[0].Storage = []spec.Storage{{Volume: "dbvolume", Location: "/toskose/documents"}}
			},
			`container "backend": nothing can be mounted at /toskose/documents, where`,
		},
		"a command with an open quotation": {
			func(a *spec.Application) { a.Nodes[2].Command = `sh -c "x` },
			`container "store": command "sh -c \"x": a quotation mark is not closed`,
		},
		"a component that is dialled by a container's name": {
			func(a *spec.Application) {
				a.Components[0].Name, a.Components[1].Connections = "store", []string{"store"}
				a.Components[0].Connections = nil
			},
			`container "backend": component "store" is also the name of store on the network`,
		},
		"containers whose names differ by case only": {
			func(a *spec.Application) { a.Nodes[2].Name, a.Components[0].Connections = "BACKEND", nil },
			`container "BACKEND": its name differs from that of backend only by case`,
		},
		"a component that is dialled by a container's name in other letters": {
			func(a *spec.Application) {
				a.Components[0].Name, a.Components[1].Connections = "Store", []string{"Store"}
			},
			`container "backend": component "Store" is also the name of store on the network`,
		},
		"a name without a letter": {
			func(a *spec.Application) { a.Name = "***" },
			`the application's name "***" has no letter or digit`,
		},
		"inputs that differ by case only": {
			func(a *spec.Application) {
				o := &a.Components[0].Interfaces[0].Operations[1]
				o.Inputs = append(o.Inputs, spec.OperationInput{Name: "PORT", Value: "1"})
			},
			`input "PORT": has the same variable INPUT_PORT as "port"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := sample.App()
			test.change(app)
			_, err := packager.New(app, sample.Archive(), config.Config{}, packager.Options{AllowHost: sample.Host})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v\nwant  %s", err, test.want)
			}
		})
	}
}

func TestWhatIsLostIsWarnedOf(t *testing.T) {
	t.Parallel()
	app := sample.App()
	app.Nodes[1].Image.Kind = spec.ImageService
	warnings := strings.Join(plan(t, app, config.Config{}).Warnings, "\n")
	for _, want := range []string{`container "backend": its command is not run`, `container "frontend": the command of image`} {
		if !strings.Contains(warnings, want) {
			t.Errorf("%q lacks %q", warnings, want)
		}
	}
}

func TestServicesThatNeedEachOtherAreOrderedWithoutACycle(t *testing.T) {
	t.Parallel()
	p := plan(t, sample.App(), config.Config{}) // backend and frontend depend on each other
	seen := map[string]bool{}
	for range p.Services {
		for _, s := range p.Services {
			ready := true
			for _, d := range s.DependsOn {
				ready = ready && seen[d]
			}
			seen[s.Name] = seen[s.Name] || ready
		}
	}
	for _, s := range p.Services {
		if !seen[s.Name] {
			t.Errorf("%s is in a cycle: %v", s.Name, s.DependsOn)
		}
	}
}

func TestImagesOfDockerfilesAreBuiltFromTheArchive(t *testing.T) {
	t.Parallel()
	app := sample.App()
	app.Nodes[0].Image = spec.Image{Kind: spec.ImageFile, Name: "api/Dockerfile"}
	app.Nodes[2].Image = spec.Image{Kind: spec.ImageFileService, Name: "store/Dockerfile.prod"}
	plan := func(yml string) (*packager.Plan, error) {
		target := packager.TargetOf(app)
		cfg, err := config.Parse("toskose.yml", []byte(yml)).Check(&target)
		if err != nil {
			return nil, err
		}
		return packager.New(app, sample.Archive(), cfg, packager.Options{AllowHost: sample.Host, Version: "1.2.3"})
	}
	type is struct {
		name, base, file string
		alone            bool
	}
	for yml, want := range map[string][]is{
		"": {
			{"my-shop-backend-toskosed:latest", "my-shop-backend-base:latest", "api/Dockerfile", false},
			{"my-shop-store:latest", "my-shop-store:latest", "store/Dockerfile.prod", true},
		},
		"nodes: {backend: {docker: {base_image: other, base_tag: '1'}}, store: {docker: {name: reg.example/store, tag: v2}}}": {
			{"my-shop-backend-toskosed:latest", "other:1", "", false},
			{"reg.example/store:v2", "reg.example/store:v2", "store/Dockerfile.prod", true},
		},
	} {
		p, err := plan(yml)
		if err != nil {
			t.Errorf("%s: %v", yml, err)
			continue
		}
		var got []is
		for _, i := range p.Images {
			if i.Node == "backend" || i.Node == "store" {
				got = append(got, is{i.Name, i.Base, i.Dockerfile, i.Alone()})
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", yml, got, want)
		}
		for _, s := range p.Services {
			if s.Name == "store" && s.Image != want[1].name {
				t.Errorf("%s: store runs %q", yml, s.Image)
			}
		}
	}
	for yml, want := range map[string]string{
		"nodes: {backend: {docker: {base_tag: '1'}}}":    "nodes.backend.docker.base_tag needs a base_image",
		"nodes: {store: {docker: {base_image: other}}}":  "only its alias, ports, deploy, compose, kubernetes, and name, tag and registry_password of docker can be set",
		"nodes: {store: {port: 9000}}":                   "the container hosts no components",
		"nodes: {frontend: {docker: {name: bad name!}}}": "is not an image name",
	} {
		if _, err := plan(yml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yml, err)
		}
	}
}

// TestANameEndsWhereThoseOfItsPartsBegin: `shop_web` with a volume `data` would have that of
// `shop` with a volume `web_data`.
func TestANameEndsWhereThoseOfItsPartsBegin(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"Shop_Web": "shop-web", "_shop__web_": "shop-web", "shop.web 2": "shop-web-2"} {
		app := sample.App()
		app.Name = given
		if name := plan(t, app, config.Config{}).App; name != want {
			t.Errorf("%q is called %q, want %q", given, name, want)
		}
	}
}

func TestALongNameIsCutAndStaysItsOwn(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, end := range []string{"one", "two"} {
		app := sample.App()
		app.Name = strings.Repeat("A Very Long Name ", 5) + end
		name := plan(t, app, config.Config{}).App
		if names[name] || len(name) > 40 || !strings.HasPrefix(name, "a-very-long-name-a-very-long-na") {
			t.Errorf("%q", name)
		}
		names[name] = true
	}
}

func TestAnExternalVolumeIsNoOtherVolumeOfTheApplication(t *testing.T) {
	t.Parallel()
	app := sample.App()
	app.Volumes = append(app.Volumes, spec.Volume{Name: "one", Options: map[string]string{"device": "/etc", "o": "bind"}}, spec.Volume{Name: "two"})
	p := plan(t, app, config.Config{Volumes: map[string]config.Volume{"one": {External: true}, "two": {External: true, Name: "theirs"}}})
	if diff := cmp.Diff(map[string]string{"one": "one", "two": "theirs"}, p.ExternalVolumes()); diff != "" {
		t.Error(diff)
	}
	if one := p.Volumes[1]; one.Driver != "" || one.Options != nil || len(p.Host) != 1 {
		t.Errorf("the external volume is %+v, and paths of the host are %v", one, p.Host)
	}
	_, err := packager.New(app, sample.Archive(), config.Config{Volumes: map[string]config.Volume{"one": {External: true}, "two": {External: true, Name: "my-shop_dbvolume"}}},
		packager.Options{AllowHost: sample.Host})
	if want := `volume "two": the external volume "my-shop_dbvolume" is the application's volume "dbvolume", too`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	_, err = packager.New(app, sample.Archive(), config.Config{Volumes: map[string]config.Volume{"one": {External: true, Name: "theirs"}, "two": {External: true, Name: "theirs"}}},
		packager.Options{AllowHost: sample.Host})
	if want := `volume "two": the external volume "theirs" is the application's volume "one", too`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestPortsInTheConfigurationReplaceThoseOfTheApplication(t *testing.T) {
	t.Parallel()
	p := plan(t, sample.App(), config.Config{Nodes: map[string]config.Node{
		"backend": {Ports: config.Ports{"127.0.0.1:10001:8000", "[::1]:10001:8000"}}, "frontend": {Ports: config.Ports{}}, "store": {Ports: config.Ports{"127.0.0.2:10001:6379"}},
	}})
	for name, want := range map[string][2][]packager.Port{
		"backend":  {{{8000, 10001, "tcp", "127.0.0.1"}, {8000, 10001, "tcp", "::1"}}, {{9001, 0, "tcp", ""}}},
		"frontend": {nil, {{53, 0, "udp", ""}}},
		"store":    {{{6379, 10001, "tcp", "127.0.0.2"}}, nil},
	} {
		s := service(t, p, name)
		if diff := cmp.Diff(want, [2][]packager.Port{s.Ports, s.Internal}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	_, err := packager.New(sample.App(), sample.Archive(), config.Config{Nodes: map[string]config.Node{"store": {Ports: config.Ports{"127.0.0.1:8080:6379"}}}}, packager.Options{AllowHost: sample.Host})
	if want := `container "store": port 127.0.0.1:8080 of the host is already published by the container backend`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
