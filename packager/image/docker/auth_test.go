package docker

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/toskose/toskose/packager"
)

func decode(t *testing.T, encoded string) string {
	t.Helper()
	data, err := base64.URLEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestARegistrysPasswordGoesToThatRegistryOnlyWithTheUserOfTheName(t *testing.T) {
	t.Parallel()
	e := &Engine{Keychain: WithPasswords(authn.NewMultiKeychain(), []packager.Image{
		{Name: "eve/shop:1", RegistryPassword: "hub"},
		{Name: "reg.example:5000/eve/a/b", RegistryPassword: "hers"},
		{Name: "reg.example:5000/ada/a:1", RegistryPassword: "ada's"},
		{Name: "other.example/ada/a:1"},
	})}
	for name, want := range map[string]string{
		"eve/shop:1":                `{"username":"eve","password":"hub","serveraddress":"index.docker.io"}`,
		"reg.example:5000/eve/a/b":  `{"username":"eve","password":"hers","serveraddress":"reg.example:5000"}`,
		"reg.example:5000/ada/a:1":  `{"username":"ada","password":"ada's","serveraddress":"reg.example:5000"}`,
		"reg.example:5000/base/x:1": `{"username":"eve","password":"hers","serveraddress":"reg.example:5000"}`,
		"reg.example/eve/a":         `{}`,
		"other.example/ada/a:1":     `{}`,
		"reg.example:5000/ada/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef": `{"username":"ada","password":"ada's","serveraddress":"reg.example:5000"}`,
	} {
		encoded, err := e.credentials(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got := decode(t, encoded); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// The environment is the process's, so this test is not parallel.
func TestCredentialsComeFromDockersConfigurationAndItsHelpers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	config := `{
		"auths": {"plain.example": {"auth": "` + base64.StdEncoding.EncodeToString([]byte("ada:pw")) + `"}},
		"credHelpers": {"helped.example:5000": "toskose-test"}}`
	helper := "#!/bin/sh\nread -r server\necho '{\"Username\": \"helped\", \"Secret\": \"'$server'\"}'\n"
	for name, text := range map[string]string{"config.json": config, "docker-credential-toskose-test": helper} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	e := &Engine{Keychain: WithPasswords(authn.DefaultKeychain, nil)}
	for name, want := range map[string]string{
		"plain.example/a":            `{"username":"ada","password":"pw","serveraddress":"plain.example"}`,
		"helped.example:5000/team/a": `{"username":"helped","password":"helped.example:5000","serveraddress":"helped.example:5000"}`,
		"else.example/a":             `{}`,
	} {
		encoded, err := e.credentials(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got := decode(t, encoded); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
