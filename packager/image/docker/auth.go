package docker

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/registry"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/toskose/toskose/packager"
)

// passwords holds the registry credentials of a toskose.yml; they take precedence over the
// credentials in others.
type passwords struct {
	known  []password
	others authn.Keychain
}

type password struct{ registry, user, text string }

var _ authn.ContextKeychain = passwords{}

// WithPasswords returns a keychain with the registry_password of each image. The user name is the
// first element of the image's path.
func WithPasswords(others authn.Keychain, images []packager.Image) authn.Keychain {
	p := passwords{others: others}
	for _, i := range images {
		tag, err := name.NewTag(i.Name)
		if err != nil || i.RegistryPassword == "" {
			continue
		}
		p.known = append(p.known, password{tag.RegistryStr(), firstPart(tag.RepositoryStr()), i.RegistryPassword})
	}
	return p
}

func firstPart(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

// Resolve implements authn.Keychain.
func (p passwords) Resolve(target authn.Resource) (authn.Authenticator, error) {
	return p.ResolveContext(context.Background(), target)
}

// ResolveContext implements authn.ContextKeychain. If a registry has several passwords, the
// password of the image's user comes first.
func (p passwords) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	var best *password
	for i, k := range p.known {
		if k.registry != target.RegistryStr() {
			continue
		}
		path := strings.TrimPrefix(target.String(), k.registry+"/")
		if best == nil || firstPart(path) == k.user {
			best = &p.known[i]
		}
		if firstPart(path) == k.user {
			break
		}
	}
	if best != nil {
		return authn.FromConfig(authn.AuthConfig{Username: best.user, Password: best.text}), nil
	}
	return authn.Resolve(ctx, p.others, target)
}

// credentials returns the credentials for an image's registry, in the engine's encoding.
func (e *Engine) credentials(ctx context.Context, ref string) (string, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return "", fmt.Errorf("%q is not an image: %w", ref, err)
	}
	auth, err := authn.Resolve(ctx, e.Keychain, parsed.Context())
	if err != nil {
		return "", fmt.Errorf("cannot get the credentials for registry %q: %w", parsed.Context().RegistryStr(), err)
	}
	c, err := authn.Authorization(ctx, auth)
	if err != nil {
		return "", fmt.Errorf("cannot get the credentials for registry %q: %w", parsed.Context().RegistryStr(), err)
	}
	config := registry.AuthConfig{Username: c.Username, Password: c.Password, IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken}
	if config != (registry.AuthConfig{}) {
		config.ServerAddress = parsed.Context().RegistryStr()
	}
	data, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("cannot encode credentials: %w", err)
	}
	return base64.URLEncoding.EncodeToString(data), nil
}

// loginHint adds to a registry's refusal the command that stores credentials.
func loginHint(ref string, err error) error {
	text := strings.ToLower(err.Error())
	parsed, parseErr := name.ParseReference(ref)
	if parseErr != nil || !strings.Contains(text, "unauthorized") && !strings.Contains(text, "no basic auth") && !strings.Contains(text, "denied") {
		return err
	}
	return fmt.Errorf("%w; `docker login %s` stores credentials", err, parsed.Context().RegistryStr())
}
