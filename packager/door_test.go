package packager_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
)

// given packages with a certificate of the user's.
func given(cert, key, bind string, how packager.Options) (*packager.Plan, error) {
	how.Now = time.Now()
	how.Read = func(name string) ([]byte, error) {
		switch name {
		case "api.crt":
			return []byte(cert), nil
		case "api.key":
			return []byte(key), nil
		}
		return nil, errors.New("there is no such file")
	}
	cfg := config.Config{Manager: config.Manager{Bind: bind, TLS: config.Certificate{Certificate: "api.crt", Key: "api.key"}}}
	return packager.New(sample.App(), sample.Archive(), cfg, how)
}

// warned are the warnings of its certificate.
func warned(p *packager.Plan) []string {
	return slices.DeleteFunc(slices.Clone(p.Warnings), func(text string) bool { return !strings.HasPrefix(text, "manager.tls: ") })
}

func TestTheAPIIsServedWithTheUsersCertificate(t *testing.T) {
	t.Parallel()
	cert, key := sample.Certificate(t, x509.Certificate{DNSNames: []string{"*.example.org", "shop.example.org"}})
	p, err := given(cert, key, "", packager.Options{AllowHost: sample.Host, TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	manager := p.Manager()
	for name, want := range map[string]string{
		"TOSKOSE_MANAGER_TLS_CERT": "/run/secrets/manager-api.crt", "TOSKOSE_MANAGER_TLS_KEY": "/run/secrets/manager-api.key",
		"TOSKOSE_TLS_CERT": "/run/secrets/toskose-manager-tls.crt", // units know their own authority only
	} {
		if manager.Env[name] != want {
			t.Errorf("%s is %q, want %q", name, manager.Env[name], want)
		}
	}
	for name, want := range map[string]string{"manager-api.crt": cert, "manager-api.key": key} {
		i := slices.IndexFunc(p.Secrets, func(s packager.Secret) bool { return s.Name == name })
		if i < 0 || p.Secrets[i].Given != want || p.Secrets[i].TLS != nil || !slices.Contains(manager.Secrets, name) {
			t.Errorf("%s is no secret of the manager", name)
		}
	}
	for _, f := range image(t, p, "").Files {
		if text := string(f.Data); strings.Contains(text, "api.crt") || strings.Contains(text, "BEGIN") {
			t.Errorf("it is in the image:\n%s", text)
		}
	}
	if p.ManagerName() != "manager.example.org" || len(warned(p)) > 0 {
		t.Errorf("%q, %q", p.ManagerName(), p.Warnings)
	}
}

func TestACertificateThatClientsRefuseIsWarnedOf(t *testing.T) {
	t.Parallel()
	now, here := time.Now(), []string{packager.LocalName}
	for want, template := range map[string]x509.Certificate{
		"":                      {DNSNames: here},
		"was valid until":       {DNSNames: here, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(0, 0, -1)},
		"is valid from":         {DNSNames: here, NotBefore: now.AddDate(0, 0, 1), NotAfter: now.AddDate(1, 0, 0)},
		"only":                  {DNSNames: here, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(0, 0, 29)},
		"subjectAltName":        {},
		"one day more is quiet": {IPAddresses: []net.IP{net.IPv6loopback}, NotBefore: now, NotAfter: now.AddDate(0, 0, 31)},
	} {
		cert, key := sample.Certificate(t, template)
		p, err := given(cert, key, "", packager.Options{AllowHost: sample.Host, TLS: true})
		if err != nil {
			t.Fatal(err)
		}
		said := warned(p)
		if quiet := want == "" || strings.HasSuffix(want, "quiet"); quiet && len(said) > 0 || !quiet && (len(said) != 1 || !strings.Contains(said[0], want)) {
			t.Errorf("%q: %q", want, said)
		}
	}
}

func TestACertificateThatCannotBeServedIsRefused(t *testing.T) {
	t.Parallel()
	cert, _ := sample.Certificate(t, x509.Certificate{})
	other, key := sample.Certificate(t, x509.Certificate{})
	for says, make := range map[string]func() (*packager.Plan, error){
		"private key does not match": func() (*packager.Plan, error) {
			return given(cert, key, "", packager.Options{AllowHost: sample.Host, TLS: true})
		},
		"cannot be used": func() (*packager.Plan, error) {
			return given(other, "", "", packager.Options{AllowHost: sample.Host, TLS: true})
		},
		"is packaged with --tls": func() (*packager.Plan, error) { return given(other, key, "", packager.Options{AllowHost: sample.Host}) },
		"no such file": func() (*packager.Plan, error) {
			cfg := config.Config{Manager: config.Manager{TLS: config.Certificate{Certificate: "a", Key: "b"}}}
			return packager.New(sample.App(), sample.Archive(), cfg, packager.Options{AllowHost: sample.Host, TLS: true, Read: func(name string) ([]byte, error) {
				return nil, fmt.Errorf("there is no such file: %s", name)
			}})
		},
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), "manager.tls: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func TestAPortIsPublishedWhereTheManagersCertificateIsFor(t *testing.T) {
	t.Parallel()
	for bind, names := range map[string][]string{
		"": nil, "0.0.0.0": nil, "10.0.0.7": {"10.0.0.7"}, "::": nil,
	} {
		p, err := packager.New(sample.App(), sample.Archive(), config.Config{Manager: config.Manager{Bind: bind}}, packager.Options{AllowHost: sample.Host, TLS: true})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(p.Secrets, func(s packager.Secret) bool { return s.Name == "toskose-manager-tls.crt" })
		want := append(append([]string{}, names...), "127.0.0.1", "::1", "localhost", "toskose-manager")
		slices.Sort(want)
		if diff := cmp.Diff(want, p.Secrets[i].TLS.Names); diff != "" {
			t.Errorf("at %q: %s", bind, diff)
		}
		if at := p.Manager().Ports[0].Bind; bind == "" && at != "127.0.0.1" || bind != "" && at != bind {
			t.Errorf("at %q: %q", bind, at)
		}
	}
}
