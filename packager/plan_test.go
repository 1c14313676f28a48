package packager_test

import (
	"testing"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
)

func TestAPinnedPlanHasOtherImagesAndIsOtherwiseTheSame(t *testing.T) {
	t.Parallel()
	p, err := packager.New(sample.App(), sample.Archive(), config.Config{}, packager.Options{AllowHost: sample.Host, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	pinned := p.Pinned(func(ref string) (string, string) { return ref + "-0123", "1000" })
	for i, s := range p.Services {
		got, user := pinned.Services[i], "1000"
		if s.IsManager {
			user = packager.ManagerUser // which manifests demand, whatever its image says
		}
		if got.Image != s.Image+"-0123" || got.User != user || got.Name != s.Name {
			t.Errorf("%s has image %q of user %q", got.Name, got.Image, got.User)
		}
	}
	for i, image := range p.Images {
		if pinned.Images[i].Name != image.Name {
			t.Errorf("image %q would be built as %q", image.Name, pinned.Images[i].Name)
		}
	}
}

func TestOnlyTheUsersOfUnitsAndManagerReadSecrets(t *testing.T) {
	t.Parallel()
	p, err := packager.New(sample.App(), sample.Archive(), config.Config{}, packager.Options{AllowHost: sample.Host, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	limited := p.WithSecretUsers(func(image string) string { asked[image] = true; return "1000" })
	for i, s := range p.Services {
		want := ""
		switch {
		case s.IsManager:
			want = packager.ManagerUID
		case s.IsToskosed:
			want = "1000"
		}
		if got := limited.Services[i].SecretUser; got != want || asked[s.Image] != s.IsToskosed {
			t.Errorf("the secrets of %s are read by %q, want %q", s.Name, got, want)
		}
	}
}
