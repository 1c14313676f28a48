package main

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/cmd/toskose/cli"
)

// engineIn has the shop's server be an engine with a swarm in some state.
func (s *shop) engineIn(swarm string, secrets ...string) {
	around := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/_ping"):
				w.Header().Set("Api-Version", "1.41")
			case strings.HasSuffix(r.URL.Path, "/version"):
				_, _ = io.WriteString(w, "{}")
			case strings.HasSuffix(r.URL.Path, "/info"):
				_, _ = io.WriteString(w, `{"Swarm": {"LocalNodeState": "`+swarm+`", "ControlAvailable": true}}`)
			case strings.HasSuffix(r.URL.Path, "/secrets"):
				var list []string
				for _, name := range secrets {
					list = append(list, `{"Spec": {"Name": "`+name+`"}}`)
				}
				_, _ = io.WriteString(w, "["+strings.Join(list, ",")+"]")
			default:
				s.t.Errorf("the engine is asked %s %s", r.Method, r.URL)
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
	}
	s.around.Store(&around)
}

func TestExternalSecretsAreNamedWithTheCommandsThatMakeThem(t *testing.T) {
	s := newShop(t)
	args := append([]string{"--secrets", "external", "--target", "swarm,kubernetes", "--tls"}, toRegistry...)
	if code := s.run(t.Context(), args...); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &s.err)
	}
	for _, line := range []string{
		"  docker secret create shop_web-password FILE\n",
		"  docker secret create shop_tls-ca.crt FILE  # the certificate of the authority, in PEM\n",
		"  docker secret create shop_web-tls.crt FILE  # a certificate for web, in PEM\n",
		"  kubectl create namespace shop\n",
		"  kubectl -n shop create secret generic web-password --from-file=web-password=FILE\n",
		"  kubectl -n shop create secret generic web-tls-key --from-file=web-tls.key=FILE  # the private key of web, in PEM\n",
		"  toskose deploy ",
		"  docker secret create shop_manager-users FILE  # who else may use the manager, as `toskose user --file FILE` writes it\n",
		"  curl --user admin https://localhost:10000/api/v1/node/\n",
	} {
		if !strings.Contains(s.out.String(), line) {
			t.Errorf("no %q in\n%s", line, &s.out)
		}
	}
	made := s.made()
	for _, never := range []string{"made/out/secrets", "made/out/docker-compose.local.yml"} {
		if slices.Contains(made, never) {
			t.Errorf("there is %s", never)
		}
	}

	deploy := []string{"--docker-url", "tcp://" + s.host, "deploy", "MADE/out"}
	s.engineIn("inactive")
	if code := s.run(t.Context(), deploy...); code != cli.ExitFailed || !strings.Contains(s.err.String(), `cannot deploy "shop": its secrets are a swarm's`) {
		t.Errorf("without a swarm: exit code %d: %s", code, &s.err)
	}
	s.engineIn("active", "shop_web-password", "shop_tls-ca.crt", "shop_manager-password")
	code := s.run(t.Context(), deploy...)
	for _, want := range []string{
		"the swarm lacks 6 of the 9 external secrets", "\n      docker secret create shop_manager-secret-key FILE\n", "shop_toskose-manager-tls.key FILE\n",
	} {
		if code != cli.ExitFailed || !strings.Contains(s.err.String(), want) {
			t.Errorf("without secrets: exit code %d, no %q in\n%s", code, want, &s.err)
		}
	}
	if strings.Contains(s.err.String(), "shop_web-password") {
		t.Errorf("what is there is called missing:\n%s", &s.err)
	}
}

func TestExternalSecretsAreForASwarmUnlessAnotherTargetIsNamed(t *testing.T) {
	s := newShop(t)
	if code := s.run(t.Context(), append([]string{"--secrets", "external"}, toRegistry...)...); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &s.err)
	}
	if code := s.run(t.Context(), "--docker-url", "unix:///no/engine.sock", "deploy", "MADE/out"); code != cli.ExitFailed ||
		!strings.Contains(s.err.String(), "cannot reach the Docker engine") || strings.Count(s.err.String(), "\n") != 1 {
		t.Errorf("deployed on no engine: exit code %d: %s", code, &s.err)
	}
	if made := s.made(); !slices.Contains(made, "made/out/docker-compose.yml") || slices.Contains(made, "made/out/docker-compose.local.yml") {
		t.Errorf("there is %q", made)
	}
}
