package attach

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
)

func TestBadInputIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	const one = "services: {web: {image: web}}\n"
	for name, tt := range map[string]struct {
		files  map[string]string
		change func(*Options)
		want   []string
	}{
		"a file that Compose refuses": {
			map[string]string{"compose.yaml": "services: {web: {image: web, comand: x}}\n"},
			nil,
			[]string{"validating ", "compose.yaml: services.web additional properties 'comand' not allowed"},
		},
		"no file": {nil, nil, []string{"compose.yaml: no such file"}},
		"the manager's name": {
			map[string]string{"compose.yaml": "services: {toskose-manager: {image: web}}\n"},
			nil,
			[]string{`service "toskose-manager" has the name of the manager that would be added: rename the service`},
		},
		"the manager's port": {
			map[string]string{"compose.yaml": "services: {web: {image: web, ports: [\"10000:80\"]}, api: {image: web, ports: [\"9990-10010:9990-10010\"]}}\n"},
			nil,
			[]string{`the manager's port 10000 is already published by service "api", "web": name another one with --port`},
		},
		"a missing image": {
			map[string]string{"compose.yaml": "services: {web: {image: gone}, api: {build: .}}\n"},
			nil,
			[]string{
				`service "web": cannot get image "gone": there is none: get it with ` + "`docker compose pull web`, or leave the service out with --exclude web",
				`service "api": cannot get image "shop-api": there is none: build it with ` + "`docker compose build api`",
			},
		},
		"an unknown service": {
			map[string]string{"compose.yaml": one},
			func(o *Options) { o.Services = []string{"wep"} },
			[]string{`there is no service "wep" (did you mean "web"?)`},
		},
		"a service of a profile": {
			map[string]string{"compose.yaml": "services: {web: {image: web}, api: {image: web, profiles: [x]}}\n"},
			func(o *Options) { o.Exclude = []string{"api"} },
			[]string{`service "api" belongs to a profile that is not active: give its profile with --profile`},
		},
		"a selected service without supervisord": {
			map[string]string{"compose.yaml": "services: {db: {image: \"postgres:16\"}}\n"},
			func(o *Options) { o.Services = []string{"db"} },
			[]string{`service "db" cannot be attached: no supervisord in its image`},
		},
		"a file of the user": {
			map[string]string{"compose.yaml": one, DefaultFile: "services: {}\n"},
			nil,
			[]string{"compose.toskose.yml\" was not written by toskose attach, and would be replaced: name another file with --output"},
		},
		"a secret of the user": {
			map[string]string{"compose.yaml": one + "secrets: {toskose-manager-password: {file: ./x}}\n"},
			nil,
			[]string{`the application has a secret "toskose-manager-password", which would be replaced: rename it`},
		},
		"another key of toskose.yml": {
			map[string]string{"compose.yaml": one, "toskose.yml": "goal: down\nnodes: {}\nrequires: [x]\n"},
			nil,
			[]string{
				`toskose.yml:1:7: goal: "down" is not "up"`, "toskose.yml:2:1: nodes: attached containers have no such setting, only requires and goal",
				"toskose.yml:3:11: requires: it is not a mapping",
			},
		},
		"requirements of what is not attached": {
			map[string]string{"compose.yaml": one, "toskose.yml": "requires: {db/x: [web], web: [db]}\n"},
			nil,
			[]string{`requires: "db/x" names service "db", which is not attached`, `requires: "web" is not NODE/PROGRAM`},
		},
		"an unknown requirement": {
			map[string]string{"compose.yaml": one, "toskose.yml": "requires: {web/x: [wep]}\n"},
			nil,
			[]string{`requires of program "x" names "wep", which the application does not have (did you mean "web"?)`},
		},
		"no manager": {
			map[string]string{"compose.yaml": one},
			func(o *Options) { o.Images = otherEngine{o.Images} },
			[]string{"cannot find toskose-manager for linux/riscv64: looked for "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			images := shopImages()
			web := supervised(nil)
			web.contents.Architecture = "amd64"
			images["web"] = web
			b := newBench(t, images, tt.files)
			if tt.change != nil {
				tt.change(&b.opts)
			}
			_, err := b.attach()
			if err == nil {
				t.Fatal("it is accepted")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %q", want, err)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(b.dir, FolderName)); left != nil { // the pattern is valid
				t.Error("the folder was written")
			}
		})
	}
}

// otherEngine is an engine of another architecture.
type otherEngine struct{ Images }

// Architecture implements Images.
func (otherEngine) Architecture(context.Context) (string, error) { return "riscv64", nil }

func TestWhyAServiceIsNotAttached(t *testing.T) {
	t.Parallel()
	packaged := supervised(nil)
	packaged.contents.Labels = map[string]string{packager.LabelVersion: "1"}
	arm := supervised(nil)
	arm.contents.Architecture = "arm64"
	for name, tt := range map[string]struct {
		image   fakeImage
		service string
		want    string
	}{
		"another command":      {supervised(nil), "command: celery worker", "its command does not name supervisord, which its image has; --service web attaches it"},
		"another entry point":  {supervised(nil), "entrypoint: /app", "its command does not name supervisord"},
		"another architecture": {arm, "", "its image is for arm64, and toskose has no unit for it"},
		"a mount over it":      {supervised(nil), "volumes: [\"./x:/usr/bin/supervisord\"]", "the service mounts a file over /usr/bin/supervisord"},
		"no network":           {supervised(nil), "network_mode: none", "network_mode: none"},
		"an image of toskose":  {packaged, "", "its image was packaged by toskose"},
		"no supervisord":       {fakeImage{contents: image.Contents{Command: []string{"supervisord"}}}, "", "no supervisord in its image"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fakeImages{"web": tt.image}, map[string]string{"compose.yaml": "services:\n  web:\n    image: web\n    " + tt.service + "\n", "x": ""})
			r, err := b.attach()
			if r == nil || !errors.Is(err, ErrNothing) || !strings.HasPrefix(r.Services[0].Reason, tt.want) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
