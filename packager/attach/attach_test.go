package attach

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	stack "github.com/docker/cli/cli/compose/loader"
	stacktypes "github.com/docker/cli/cli/compose/types"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/spec"
)

// shop has services with everything that a second file could replace.
const shop = `version: "3.8"
services:
  web:
    image: shop/web
    command: ["supervisord", "-n", "-c", "/etc/web.conf"]
    environment:
      - PRICE=$$5
      - HOST=${HOSTNAME_OF_SHOP:-here}
    volumes:
      - data:/var/lib/web
      - ./site:/site:ro
    networks: {front: {aliases: [www]}, back: {}}
    ports: ["8080:80", "127.0.0.1:8443:443"]
    secrets: [token]
    depends_on: [db]
    healthcheck: {test: ["CMD", "true"]}
    labels: {team: shop}
  worker:
    build: .
    entrypoint: ["/entry"]
    networks: [back]
    expose: ["9001"]
  db:
    image: postgres:16
    networks: [back]
    volumes: [db:/var/lib/postgresql/data]
  metrics:
    image: shop/metrics
    network_mode: host
  debug:
    image: shop/web
    profiles: [debug]
networks:
  front: {}
  back: {internal: true}
volumes: {data: {}, db: {}}
secrets: {token: {file: ./token}}
`

func shopImages() fakeImages {
	return fakeImages{
		"shop/web": supervised(fakeFiles{
			"/etc/web.conf": "[supervisord]\n[include]\nfiles = web.d/*.conf\n[rpcinterface:twiddler]\nsupervisor.rpcinterface_factory = supervisor_twiddler:make\n",
			"/etc/web.d/a.conf": "[inet_http_server]\nport = *:9001\n[eventlistener:x]\nresult_handler=mine:handler\n" +
				"[eventlistener:y]\nresult_handler = supervisor_stdout:event_handler\n",
		}),
		"shop_worker": supervised(fakeFiles{"/etc/supervisord.conf": "[supervisord]\n", "/entry": "#!/bin/sh\nexec /opt/venv/bin/supervisord\n", "/opt/venv/bin/supervisord": "-> /usr/bin/supervisord"}),
		"postgres:16": {contents: image.Contents{Command: []string{"postgres"}}, files: fakeFiles{"/usr/bin/postgres": "x"}},
	}
}

func newShop(t *testing.T) *bench {
	t.Helper()
	return newBench(t, shopImages(), map[string]string{
		"compose.yaml": shop, "token": "t", "toskose.yml": "goal: up\nrequires:\n  web/app: [db, worker/queue]\n",
	})
}

func TestTheSecondFileMountsTheUnitAndAddsAManager(t *testing.T) {
	t.Parallel()
	b := newShop(t)
	found := b.must()
	sample.Golden(t, "shop.yml", []byte(b.read(DefaultFile)))
	sample.Golden(t, "shop.json", []byte(b.read("toskose/manager/app.json")))
	want := map[string]Finding{
		"db":      {Service: "db", Image: "postgres:16", Reason: "no supervisord in its image", arch: "amd64"},
		"metrics": {Service: "metrics", Image: "shop/metrics", Reason: "network_mode: host: the manager cannot reach it by its name"},
		"web": {Service: "web", Image: "shop/web", Attached: true, Supervisord: []string{"/usr/bin/supervisord"}, Port: 9002, arch: "amd64", Notes: []string{
			"the plugin supervisor_twiddler:make is not loaded: calls of twiddler.* are faults",
			"the result_handler mine:handler of event listener x is not loaded: any result accepts an event",
		}},
		"worker": {Service: "worker", Image: "shop_worker", Attached: true, Supervisord: []string{"/usr/bin/supervisord"}, Port: 9002, arch: "amd64"},
	}
	if diff := cmp.Diff(want, found, cmp.AllowUnexported(Finding{})); diff != "" {
		t.Error(diff)
	}
}

func TestTheSecondFileWithTLS(t *testing.T) {
	t.Parallel()
	b := newShop(t)
	b.opts.TLS, b.opts.Port = true, 10443
	b.must()
	sample.Golden(t, "shop-tls.yml", []byte(b.read(DefaultFile)))
	for _, name := range []string{"tls-ca.crt", "manager-tls.key", "unit-web-tls.crt"} {
		if text := b.read("toskose/secrets/" + name); !strings.HasPrefix(text, "-----BEGIN ") {
			t.Errorf("%s is %q", name, text)
		}
	}
}

// merged loads Compose files as Compose does.
func merged(t *testing.T, b *bench, names ...string) *types.Project {
	t.Helper()
	loading.Lock()
	defer loading.Unlock()
	details := types.ConfigDetails{WorkingDir: b.dir, Environment: types.Mapping{}}
	for _, name := range names {
		details.ConfigFiles = append(details.ConfigFiles, types.ConfigFile{Filename: filepath.Join(b.dir, name)})
	}
	p, err := loader.LoadWithContext(context.Background(), details, func(o *loader.Options) { o.SetProjectName("shop", true) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNothingThatAServiceHadIsReplaced(t *testing.T) {
	t.Parallel()
	b := newShop(t)
	b.must()
	before, after := merged(t, b, "compose.yaml"), merged(t, b, "compose.yaml", DefaultFile)
	for name, was := range before.Services {
		now := after.Services[name]
		for key, value := range was.Environment {
			if now.Environment[key] == nil || *now.Environment[key] != *value {
				t.Errorf("%s: the variable %s changed", name, key)
			}
		}
		now.Environment = was.Environment
		for i := range was.Volumes {
			if !slices.ContainsFunc(now.Volumes, func(v types.ServiceVolumeConfig) bool { return cmp.Equal(v, was.Volumes[i]) }) {
				t.Errorf("%s: the volume %s changed", name, was.Volumes[i].Target)
			}
		}
		now.Volumes = was.Volumes
		for i := range was.Secrets {
			if !slices.ContainsFunc(now.Secrets, func(s types.ServiceSecretConfig) bool { return cmp.Equal(s, was.Secrets[i]) }) {
				t.Errorf("%s: the secret %s changed", name, was.Secrets[i].Source)
			}
		}
		now.Secrets = was.Secrets
		if diff := cmp.Diff(was, now); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if len(after.Services) != len(before.Services)+1 {
		t.Errorf("services: %v", after.ServiceNames())
	}
}

func TestASwarmReadsBothFiles(t *testing.T) {
	t.Parallel()
	b := newShop(t)
	b.must()
	var details stacktypes.ConfigDetails
	details.WorkingDir, details.Environment = b.dir, map[string]string{"TOSKOSE_DISCOVERY": "tasks"}
	for _, name := range []string{"compose.yaml", DefaultFile} {
		text := strings.ReplaceAll(b.read(name), "    profiles: [debug]\n", "") // stacks have none
		parsed, err := stack.ParseYAML([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		details.ConfigFiles = append(details.ConfigFiles, stacktypes.ConfigFile{Filename: name, Config: parsed})
	}
	c, err := stack.Load(details)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Services {
		if s.Name == Manager && *s.Environment["TOSKOSE_DISCOVERY"] != "tasks" {
			t.Errorf("the manager finds replicas by %s", *s.Environment["TOSKOSE_DISCOVERY"])
		}
		if s.Name == "web" && len(s.Volumes) != 4 {
			t.Errorf("web has the volumes %+v", s.Volumes)
		}
	}
}

// modified returns the modification times of the files below the folder, without those of Compose.
func (b *bench) modified() map[string]string {
	b.t.Helper()
	times := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		times[path] = info.ModTime().String()
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return times
}

func TestASecondRunKeepsPasswordsAndRewritesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	b := newShop(t)
	b.must()
	before, password := b.modified(), b.read("toskose/secrets/manager-password")
	b.must()
	if diff := cmp.Diff(before, b.modified()); diff != "" {
		t.Errorf("an unchanged file was written: %s", diff)
	}
	b.opts.Exclude = []string{"worker"}
	b.write(filepath.Join(b.dir, "toskose.yml"), "goal: up\n")
	b.must()
	if b.read("toskose/secrets/manager-password") != password {
		t.Error("the manager has another password")
	}
	if strings.Contains(b.read(DefaultFile), "worker") {
		t.Error("the excluded service is in the file")
	}
	info, err := os.Stat(filepath.Join(b.dir, "toskose/secrets"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of secrets: %v, %v", info, err)
	}
}

func TestTheDefaultFilesAreThoseOfComposeWithoutTheSecondFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeImages{"web": supervised(nil)}, map[string]string{
		"compose.yaml": "services: {web: {image: other}}\n", "compose.override.yaml": "services: {web: {image: \"${WEB}\"}}\n", ".env": "WEB=web\n",
		DefaultFile: header + "services: {web: {image: replaced}}\n",
	})
	for name, environ := range map[string][]string{
		"by name":        {"PWD=" + b.dir},
		"by environment": {"COMPOSE_FILE=" + strings.Join([]string{b.opts.Files[0], filepath.Join(b.dir, "compose.override.yaml"), filepath.Join(b.dir, DefaultFile)}, ":")},
	} {
		b.opts.Environ = environ
		if name == "by name" {
			b.opts.Files = []string{filepath.Join(b.dir, "compose.yaml"), filepath.Join(b.dir, "compose.override.yaml"), filepath.Join(b.dir, DefaultFile)}
		} else {
			b.opts.Files = nil
			b.opts.Environ = append(b.opts.Environ, "WEB=web")
		}
		r, err := b.attach()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(r.Files) != 3 || !r.Services[0].Attached {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestAManagerHasAnOwnNetworkIfAllOthersAreInternal(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeImages{"web": supervised(nil)}, map[string]string{
		"compose.yaml": "services: {web: {image: web, networks: [back]}}\nnetworks: {back: {internal: true}}\n",
	})
	b.must()
	p := merged(t, b, "compose.yaml", DefaultFile)
	if names := slices.Sorted(maps.Keys(p.Services[Manager].Networks)); !slices.Equal(names, []string{"back", "toskose"}) || p.Networks["toskose"].Internal {
		t.Errorf("networks %v", names)
	}
}

func TestTheDocumentOfTheManagerIsValid(t *testing.T) {
	t.Parallel()
	b := newShop(t)
	b.must()
	app, err := spec.Decode([]byte(b.read("toskose/manager/app.json")))
	if err != nil {
		t.Fatal(err)
	}
	if app.Goal != spec.GoalUp || len(app.Nodes) != 3 || !slices.Equal(app.Nodes[1].Attached.Requires["app"], []string{"db", "worker/queue"}) {
		t.Errorf("%+v", app)
	}
}

func TestDetachReadsWhatAttachWrote(t *testing.T) {
	t.Parallel()
	b := newShop(t)
	b.must()
	file := filepath.Join(b.dir, DefaultFile)
	a, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	restore, remove := a.Restore()
	compose := filepath.Join(b.dir, "compose.yaml")
	want := [][]string{
		{"docker", "compose", "-f", compose, "-f", file, "rm", "--stop", "--force", Manager},
		{"docker", "compose", "-f", compose, "up", "-d"},
		{"rm", "-r", file, filepath.Join(b.dir, FolderName)},
		{"docker", "image", "rm", a.Image},
	}
	if diff := cmp.Diff(want, append(restore, remove...)); diff != "" {
		t.Error(diff)
	}
	if _, err := Read(compose); err == nil || !strings.Contains(err.Error(), "was not written by toskose attach") {
		t.Errorf("of another file: %v", err)
	}
}

func TestWithoutAServiceToAttachNothingIsWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t, shopImages(), map[string]string{"compose.yaml": "services: {db: {image: \"postgres:16\"}}\n"})
	r, err := b.attach()
	if !errors.Is(err, ErrNothing) || len(r.Services) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, FolderName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
}

func TestThePortOfAUnitIsOneThatNothingUses(t *testing.T) {
	t.Parallel()
	const server = "[inet_http_server]\nport = 127.0.0.1:9001\n"
	outside := filepath.Join(t.TempDir(), "outside.conf")
	if err := os.WriteFile(outside, []byte(server), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		image   fakeImage
		service string
		want    int
	}{
		"of the image's configuration":       {supervised(fakeFiles{"/etc/supervisord.conf": "[supervisord]\n"}), "", 9001},
		"that the image uses":                {supervised(fakeFiles{"/etc/supervisor/supervisord.conf": server}), "", 9002},
		"without a known configuration":      {supervised(nil), "", 19001},
		"of a variable":                      {supervised(fakeFiles{"/etc/supervisord.conf": "[inet_http_server]\nport=%(ENV_PORT)s\n"}), "", 19001},
		"that a mounted file uses":           {supervised(nil), "volumes: [\"./s.conf:/etc/supervisord.conf:ro\"]", 9002},
		"that an included file uses":         {supervised(nil, "supervisord", "-c", "/conf/main.conf"), "volumes: [\"./conf:/conf\"]", 9002},
		"that a config uses":                 {supervised(nil), "configs: [{source: conf, target: /etc/supervisord.conf}]", 9002},
		"of a file outside of the mount":     {supervised(nil, "supervisord", "-c", "/conf/outside.conf"), "volumes: [\"./conf:/conf\"]", 19001},
		"of a file that does not exist":      {supervised(nil), "volumes: [\"./nothing.conf:/etc/supervisord.conf\"]", 19001},
		"that the service publishes":         {supervised(fakeFiles{"/etc/supervisord.conf": ""}), "ports: [\"9001-9003:9001-9003\"]", 9004},
		"of a volume with the image's files": {supervised(fakeFiles{"/etc/supervisord.conf": server}), "volumes: [\"data:/etc\"]", 9002},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fakeImages{"web": tt.image}, map[string]string{
				"compose.yaml": "services:\n  web:\n    image: web\n    " + tt.service + "\nvolumes: {data: {}}\nconfigs: {conf: {file: ./s.conf}}\n",
				"s.conf":       server, "conf/main.conf": "[include]\nfiles = *.inc\n", "conf/a.inc": server,
			})
			if err := os.Symlink(outside, filepath.Join(b.dir, "conf/outside.conf")); err != nil {
				t.Fatal(err)
			}
			if f := b.must()["web"]; f.Port != tt.want {
				t.Errorf("port %d, want %d", f.Port, tt.want)
			}
		})
	}
}

func TestAMountedScriptThatStartsSupervisordIsRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeImages{"web": supervised(nil, "unused")}, map[string]string{
		"compose.yaml": "services: {web: {image: web, command: /app/start.sh, volumes: [\"./app:/app\"]}}\n", "app/start.sh": "#!/bin/sh\nexec supervisord -n\n",
	})
	if f := b.must()["web"]; !f.Attached {
		t.Errorf("%+v", f)
	}
}

func TestAnotherImplementationOfSupervisordIsNoted(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeImages{"web": supervised(fakeFiles{"/usr/bin/supervisord": "\x7fELF", "/etc/supervisord.conf": ""})}, map[string]string{
		"compose.yaml": "services: {web: {image: web}}\n",
	})
	if f := b.must()["web"]; !f.Attached || len(f.Notes) != 1 || !strings.HasPrefix(f.Notes[0], "/usr/bin/supervisord is a binary and not Supervisor's script") {
		t.Errorf("%+v", f)
	}
}
