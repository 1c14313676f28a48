package packager_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
)

// hushed is the sample with values that nobody may see, and the configuration
// that says so.
func hushed() (*spec.Application, config.Config) {
	app := sample.App()
	app.Inputs = []spec.Input{{Name: "key", Type: "string", Value: "hush-input"}, {Name: "port", Type: "integer", Value: 8000}}
	app.Nodes[0].Env["DB_PASSWORD"] = "hush-variable"
	app.Nodes[2].Env = map[string]string{"REDIS_PASSWORD": "hush-standalone"}
	standard := app.Components[0].Interfaces[0].Operations
	for i, value := range []string{"", "hush-input", "hush-input"} {
		if value != "" {
			standard[i].Inputs = append(standard[i].Inputs, spec.OperationInput{Name: "key", Value: value, FromInput: "key"})
		}
	}
	standard[1].Inputs = append(standard[1].Inputs, spec.OperationInput{Name: "salt", Value: "hush-one"})
	standard[2].Inputs = append(standard[2].Inputs, spec.OperationInput{Name: "salt", Value: "hush-two"})
	return app, config.Config{Secrets: []string{"api.key", "api.salt", "backend.DB_PASSWORD", "store.REDIS_PASSWORD"}}
}

func TestSecretsTravelAsFilesAndNothingElseHoldsThem(t *testing.T) {
	t.Parallel()
	app, cfg := hushed()
	p := plan(t, app, cfg)
	for _, i := range p.Images {
		for _, f := range i.Files {
			if bytes.Contains(f.Data, []byte("hush")) {
				t.Errorf("image %s: %s holds a secret:\n%s", i.Name, f.Path, f.Data)
			}
		}
		for name, value := range i.Env {
			if strings.Contains(value, "hush") {
				t.Errorf("image %s: %s is a secret", i.Name, name)
			}
		}
	}
	for _, s := range p.Services {
		for name, value := range s.Env {
			if strings.Contains(value, "hush") {
				t.Errorf("service %s: %s is a secret", s.Name, name)
			}
		}
	}
	given := map[string]string{}
	for _, s := range p.Secrets {
		if s.Application {
			given[s.Name] = s.Given
		}
	}
	want := map[string]string{
		"api.key": "hush-input", "api.Standard.create.salt": "hush-one", "api.Standard.start.salt": "hush-two",
		"backend.DB_PASSWORD": "hush-variable", "store.REDIS_PASSWORD": "hush-standalone",
	}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Error(diff)
	}
}

func TestEachContainerGetsItsOwnSecrets(t *testing.T) {
	t.Parallel()
	app, cfg := hushed()
	p := plan(t, app, cfg)
	for name, want := range map[string][]string{
		"backend":         {"api.Standard.create.salt", "api.Standard.start.salt", "api.key", "backend-password", "backend.DB_PASSWORD"},
		"frontend":        {"frontend-password"},
		"store":           {"store.REDIS_PASSWORD"},
		"toskose-manager": {"backend-password", "frontend-password", "manager-password", "manager-secret-key", "manager-users"},
	} {
		if diff := cmp.Diff(want, service(t, p, name).Secrets); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, f := range image(t, p, "backend").Files {
		switch f.Path {
		case packager.UnitConfPath:
			sample.Golden(t, "secrets.supervisord.conf", f.Data)
		case packager.ContainerPath:
			sample.Golden(t, "secrets.container.json", f.Data)
		}
	}
}

func TestAStandaloneContainerReadsItsSecretsItself(t *testing.T) {
	t.Parallel()
	app, cfg := hushed()
	p := plan(t, app, cfg)
	want := map[string]string{"REDIS_PASSWORD_FILE": "/run/secrets/store.REDIS_PASSWORD"}
	if diff := cmp.Diff(want, service(t, p, "store").Env); diff != "" {
		t.Error(diff)
	}
	if warnings := strings.Join(p.Warnings, "\n"); !strings.Contains(warnings, `container "store": its variable REDIS_PASSWORD is a secret`) {
		t.Errorf("warnings: %s", warnings)
	}
}

func TestASecretWithoutAValueIsRefused(t *testing.T) {
	t.Parallel()
	app, cfg := hushed()
	app.Nodes[0].Env["DB_PASSWORD"] = ""
	_, err := packager.New(app, sample.Archive(), cfg, packager.Options{AllowHost: sample.Host})
	if err == nil || err.Error() != `secret "backend.DB_PASSWORD": it has no value` {
		t.Errorf("error %v", err)
	}
}

func TestTheValuesThatSecretsAreMadeOfStayWithThem(t *testing.T) {
	t.Parallel()
	app, cfg := sample.Everything() // the topology's input salt is a part of api.salt
	for _, i := range plan(t, app, cfg).Images {
		for _, f := range i.Files {
			if bytes.Contains(f.Data, []byte("hush")) {
				t.Errorf("image %s: %s holds a secret:\n%s", i.Name, f.Path, f.Data)
			}
		}
	}
}

func TestTheManagerDoesNotKnowTheInputsThatAreGivenAsSecrets(t *testing.T) {
	t.Parallel()
	app := sample.App()
	app.Inputs = []spec.Input{{Name: "key", Type: "string", Value: "hush-key", Secret: true}, {Name: "size", Type: "string", Value: "open-size"}}
	of := plan(t, app, config.Config{})
	model := fileOf(t, image(t, of, ""), func(f packager.File) bool { return bytes.Contains(f.Data, []byte("open-size")) })
	if strings.Contains(model, "hush-key") || app.Inputs[0].Value != "hush-key" {
		t.Errorf("it has %s, and the application %v", model, app.Inputs)
	}
}

func TestTheLastLineOfASecretEndsAsItDid(t *testing.T) {
	t.Parallel()
	app, cfg := hushed()
	app.Nodes[0].Env["DB_PASSWORD"] = "-----BEGIN-----\nhush\n-----END-----\n"
	for _, s := range plan(t, app, cfg).Secrets {
		// Of a file, the unit leaves out one end of a line.
		if want := app.Nodes[0].Env["DB_PASSWORD"] + "\n"; s.Name == "backend.DB_PASSWORD" && s.Given != want {
			t.Errorf("the file holds %q, want %q", s.Given, want)
		}
	}
}

func TestASecretThatIsElsewhereInTheClearIsWarnedOf(t *testing.T) {
	t.Parallel()
	app, cfg := hushed()
	if w := plan(t, app, cfg).Warnings; strings.Contains(strings.Join(w, "\n"), "in the clear") {
		t.Errorf("all are hidden, but: %q", w)
	}
	app.Nodes[2].Env["URL"] = "redis://:hush-standalone@store"
	app.Nodes[2].Command = "redis-server --requirepass hush-standalone"
	app.Components[2].Interfaces[0].Operations[0].Inputs = append(app.Components[2].Interfaces[0].Operations[0].Inputs, spec.OperationInput{Name: "token", Value: "hush-input"})
	app.Volumes[0].Options["o"] = "password=hush-variable"
	var got []string
	for _, warning := range plan(t, app, cfg).Warnings {
		if strings.Contains(warning, "in the clear") {
			got = append(got, warning)
		}
	}
	want := []string{
		`secret "store.REDIS_PASSWORD": its value is also in the variable URL of the container "store", which secrets can list as store.URL, in the clear`,
		`secret "store.REDIS_PASSWORD": its value is also in the command of the container "store", in the clear`,
		`secret "api.key": its value is also in the input "token" of the component "viewer", which secrets can list as viewer.token, in the clear`,
		`secret "backend.DB_PASSWORD": its value is also in the option o of the volume "dbvolume", in the clear`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTwoSecretsOfOneNameAreRefused(t *testing.T) {
	t.Parallel()
	input := func(o *spec.Operation, name string) {
		o.Inputs = append(o.Inputs, spec.OperationInput{Name: name, Value: "hush"})
	}
	for name, test := range map[string]struct {
		secret string
		change func(*spec.Application)
	}{
		"a unit's password": {"api.x-password", func(a *spec.Application) {
			a.Nodes[0].Name, a.Components[0].Node, a.Components[0].Host, a.Components[2].Node, a.Nodes[1].Depends = "api.x", "api.x", "api.x", "api.x", nil
			input(&a.Components[0].Interfaces[0].Operations[1], "x-password")
		}},
		"another component's": {"api.a.b", func(a *spec.Application) {
			input(&a.Components[0].Interfaces[0].Operations[1], "a.b")
			a.Components[2].Name = "api.a"
			input(&a.Components[2].Interfaces[0].Operations[0], "b")
			a.Components[2].Interfaces[0].Operations[0].Inputs[3].Value = "hush, too"
		}},
		"what lies beside them": {"names.json", func(a *spec.Application) {
			a.Components[1].Name = "names"
			input(&a.Components[1].Interfaces[0].Operations[0], "json")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := sample.App()
			test.change(app)
			_, err := packager.New(app, sample.Archive(), config.Config{Secrets: []string{test.secret}}, packager.Options{AllowHost: sample.Host})
			if want := `secret "` + test.secret + `": another secret file already has this name`; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v\nwant  %s", err, want)
			}
		})
	}
}

func TestWhatAConfigurationMayNameComesFromTheApplication(t *testing.T) {
	t.Parallel()
	target := packager.TargetOf(sample.App())
	if diff := cmp.Diff([]string{"dbvolume"}, target.Volumes); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"api.file", "api.greeting", "api.port", "api.url", "backend.MODE", "backend.PRICE",
		"gui.defaults", "viewer.greeting", "viewer.level", "viewer.port",
	}
	if diff := cmp.Diff(want, target.Values); diff != "" {
		t.Error(diff)
	}
}

func TestTheConfigurationsVolumesWinOverTheApplications(t *testing.T) {
	t.Parallel()
	p := plan(t, sample.App(), config.Config{Volumes: map[string]config.Volume{
		"dbvolume": {Driver: "nfs", DriverOpts: map[string]string{"type": "nfs4", "o": "addr=10.0.0.1"}},
	}})
	want := []packager.Volume{{Name: "dbvolume", Driver: "nfs", Options: map[string]string{"type": "nfs4", "o": "addr=10.0.0.1"}}}
	if diff := cmp.Diff(want, p.Volumes); diff != "" {
		t.Error(diff)
	}
}

func TestTheManagerHasTheAuthoritiesOfUsersCertificates(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Manager: config.Manager{ClientCA: "PEM"}}
	p, err := packager.New(sample.App(), sample.Archive(), cfg, packager.Options{AllowHost: sample.Host, TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	files := image(t, p, "").Files
	if i := slices.IndexFunc(files, func(f packager.File) bool { return f.Path == packager.ClientCAPath }); i < 0 || string(files[i].Data) != "PEM" {
		t.Error("the file is not in the image")
	}
	if env := p.Manager().Env; env["TOSKOSE_MANAGER_CLIENT_CA"] != packager.ClientCAPath || env["TOSKOSE_MANAGER_TLS_CERT"] == "" {
		t.Errorf("%v", env)
	}
	if _, err := packager.New(sample.App(), sample.Archive(), cfg, packager.Options{AllowHost: sample.Host}); err == nil || !strings.Contains(err.Error(), "--tls") {
		t.Errorf("without TLS: %v", err)
	}
}

func TestUnitsSpeakTLSWithWhoeverHasACertificateOfTheirAuthority(t *testing.T) {
	t.Parallel()
	p, err := packager.New(sample.App(), sample.Archive(), config.Config{}, packager.Options{AllowHost: sample.Host, TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range image(t, p, "backend").Files {
		if f.Path != packager.UnitConfPath {
			continue
		}
		for _, line := range []string{
			"toskose_tls_cert=/run/secrets/backend-tls.crt", "toskose_tls_key=/run/secrets/backend-tls.key", "toskose_tls_client_ca=/run/secrets/tls-ca.crt",
		} {
			if !strings.Contains(string(f.Data), "\n"+line+"\n") {
				t.Errorf("no %s in\n%s", line, f.Data[:400])
			}
		}
	}
	manager := p.Manager()
	want := []string{
		"backend-password", "frontend-password", "manager-password", "manager-secret-key", "manager-users", "tls-ca.crt", "toskose-manager-tls.crt", "toskose-manager-tls.key",
	}
	if diff := cmp.Diff(want, manager.Secrets); diff != "" {
		t.Error(diff)
	}
	for name, file := range map[string]string{"TOSKOSE_TLS_CA": "tls-ca.crt", "TOSKOSE_TLS_CERT": "toskose-manager-tls.crt", "TOSKOSE_TLS_KEY": "toskose-manager-tls.key"} {
		if manager.Env[name] != "/run/secrets/"+file {
			t.Errorf("%s is %q", name, manager.Env[name])
		}
	}
	if diff := cmp.Diff([]string(nil), service(t, p, "store").Secrets); diff != "" {
		t.Errorf("a container without a unit: %s", diff)
	}
}
