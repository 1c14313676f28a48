package compose_test

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/output"
)

func TestASingleEnginePublishesTheManagerWhereItIsToldAndNothingElseSo(t *testing.T) {
	t.Parallel()
	for bind, want := range map[string]string{"": "127.0.0.1", "0.0.0.0": "0.0.0.0", "fd00::7": "fd00::7"} {
		p := plan(t, config.Config{Manager: config.Manager{Bind: bind}})
		dir := packagedFor(t, p, defaults, false)
		for name, s := range project(t, dir, compose.LocalFile).Services {
			at := ""
			if name == p.Manager().Name {
				at = want
			}
			for _, port := range s.Ports {
				if port.HostIP != at || port.Published == "" {
					t.Errorf("%q: %s has %+v", bind, name, port)
				}
			}
		}
		for _, s := range stacked(t, dir).Services {
			if s.Name == p.Manager().Name && (len(s.Ports) != 1 || s.Ports[0].Published != 10000) {
				t.Errorf("%q: a stack publishes %+v", bind, s.Ports)
			}
		}
		info, err := compose.ReadInfo(dir)
		if err != nil || info.Manager.Bind != want {
			t.Errorf("%q: %+v, %v", bind, info, err)
		}
	}
}

func TestItIsSaidWhatOthersMayRead(t *testing.T) {
	t.Parallel()
	cert, key := sample.Certificate(t, x509.Certificate{DNSNames: []string{"shop.example.org"}})
	read := func(name string) ([]byte, error) { return []byte(map[string]string{"c": cert, "k": key}[name]), nil }
	mine := config.Certificate{Certificate: "c", Key: "k"}
	for name, tt := range map[string]struct {
		manager      config.Manager
		tls          bool
		local, swarm string
	}{
		"by default":               {swarm: "passwords arrive in the clear"},
		"elsewhere":                {manager: config.Manager{Bind: "10.0.0.7"}, local: "port 10000 of 10.0.0.7 in the clear", swarm: "not at 10.0.0.7 only"},
		"elsewhere, with TLS":      {manager: config.Manager{Bind: "0.0.0.0"}, tls: true, swarm: "not at 0.0.0.0 only"},
		"with TLS":                 {tls: true},
		"for a name":               {manager: config.Manager{TLS: mine}, tls: true, local: "is for shop.example.org, but a single engine publishes the manager at 127.0.0.1"},
		"for a name and elsewhere": {manager: config.Manager{Bind: "10.0.0.7", TLS: mine}, tls: true, swarm: "10.0.0.7"},
	} {
		p, err := packager.New(sample.App(), sample.Archive(), config.Config{Manager: tt.manager}, packager.Options{AllowHost: sample.Host, TLS: tt.tls, Read: read, Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		for of, pair := range map[string][2]string{
			"a single engine": {tt.local, strings.Join(compose.LocalWarnings(p), "\n")}, "a Swarm": {tt.swarm, strings.Join(compose.SwarmWarnings(p), "\n")},
		} {
			if want, got := pair[0], pair[1]; want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%s: of %s it says %q", name, of, got)
			}
		}
	}
}

func TestASwarmPublishesNoPortWithAnAddress(t *testing.T) {
	t.Parallel()
	p := plan(t, config.Config{Nodes: map[string]config.Node{"store": {Ports: config.Ports{"127.0.0.1:6379:6379", "6380:6379"}}}})
	dir := packagedFor(t, p, defaults, false)
	for _, s := range stacked(t, dir).Services {
		if s.Name == "store" && (len(s.Ports) != 1 || s.Ports[0].Published != 6380) {
			t.Errorf("a stack publishes %+v", s.Ports)
		}
	}
	for _, s := range project(t, dir, compose.LocalFile).Services {
		if s.Name == "store" && (len(s.Ports) != 2 || s.Ports[0].HostIP != "127.0.0.1") {
			t.Errorf("an engine publishes %+v", s.Ports)
		}
	}
	warnings := strings.Join(compose.SwarmWarnings(p), "\n")
	if want := `port 127.0.0.1:6379 of container "store": a Swarm publishes ports at all addresses, and not at one, so its file leaves this port out`; !strings.Contains(warnings, want) {
		t.Errorf("it warns %q", warnings)
	}
	_, err := compose.SwarmTarget(defaults)(p, output.Secrets{})
	want := `a Swarm publishes ports at all addresses, and not at one: port 127.0.0.1:6379 of container "store"; use --target compose, or publish it without an address (ports in toskose.yml)`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	info, err := compose.ReadInfo(dir)
	if err != nil || len(info.Bound) != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestASwarmHasNoKeysThatItIgnores(t *testing.T) {
	t.Parallel()
	p := plan(t, config.Config{Nodes: map[string]config.Node{"store": {Compose: sample.Fragment("{tmpfs: /scratch, shm_size: 64m, cap_add: [NET_ADMIN], environment: {EXTRA: x}}")}}})
	dir := packagedFor(t, p, defaults, false)
	for name, want := range map[string]int{compose.SwarmFile: 0, compose.LocalFile: 1} {
		s := project(t, dir, name).Services["store"]
		if len(s.Tmpfs) != want || len(s.CapAdd) != 1 || s.Environment["EXTRA"] == nil {
			t.Errorf("%s has %+v", name, s)
		}
	}
	if all := compose.SwarmWarnings(p); !slices.Contains(all, `container "store": a Swarm ignores these keys of compose in toskose.yml: tmpfs, shm_size`) {
		t.Errorf("it warns %q", all)
	}
}
