package compose_test

import (
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/output"
)

type secretManifest struct {
	Services map[string]struct {
		Labels  map[string]string
		Secrets []struct {
			Source, Target, UID, GID string
			Mode                     *int
		}
	}
	Secrets map[string]struct {
		File string
		User string `yaml:"x-toskose-user"`
	}
}

func readSecrets(t *testing.T, write func(*packager.Plan, compose.Options, output.Secrets) ([]byte, error), user string) secretManifest {
	t.Helper()
	p := plan(t, config.Config{}).WithSecretUsers(func(string) string { return user })
	text, err := write(p, defaults, output.Secrets{})
	if err != nil {
		t.Fatal(err)
	}
	var m secretManifest
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestOnASwarmOnlyTheUserOfAUnitReadsItsSecrets(t *testing.T) {
	t.Parallel()
	users := map[string]string{"frontend": "1000", "toskose-manager": packager.ManagerUID}
	m := readSecrets(t, compose.Swarm, "1000")
	for name, user := range users {
		if len(m.Services[name].Secrets) == 0 {
			t.Errorf("%s has no secrets", name)
		}
		for _, ref := range m.Services[name].Secrets {
			if ref.UID != user || ref.GID != "0" || ref.Mode == nil || *ref.Mode != 0o400 {
				t.Errorf("%s has %+v", name, ref)
			}
		}
		if got := m.Services[name].Labels["kompose.security-context.fsgroup"]; got != user {
			t.Errorf("kompose gives the volumes of %s to the group %q", name, got)
		}
	}
	m = readSecrets(t, compose.Swarm, "")
	for _, ref := range m.Services["frontend"].Secrets {
		if ref.UID != "" || ref.Mode != nil {
			t.Errorf("a user that is not known reads %+v", ref)
		}
	}
}

func TestOnASingleEngineEachUserHasACopyOfItsSecrets(t *testing.T) {
	t.Parallel()
	m := readSecrets(t, compose.Local, "0")
	for name, user := range map[string]string{"frontend": "0", "toskose-manager": packager.ManagerUID} {
		for _, ref := range m.Services[name].Secrets {
			own := m.Secrets[ref.Source]
			if ref.Source != ref.Target+"."+user || ref.UID != "" || ref.Mode != nil || own.User != user || own.File != "./secrets/"+ref.Target {
				t.Errorf("%s has %+v of %+v", name, ref, own)
			}
		}
	}
	for name, s := range m.Secrets {
		if s.User == "" {
			t.Errorf("all users read %s", name)
		}
	}
}
