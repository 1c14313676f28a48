package deploy

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// scheme is how the URL of an application's manager begins.
func scheme(info output.Info) string { return info.Manager.Scheme() + "://" }

// authority is the file with the certificate that signed the manager's; empty: the
// manager has none, or somebody else knows.
func authority(dir string, info output.Info) string {
	if !info.Manager.TLS || len(info.External) > 0 {
		return ""
	}
	return output.AuthorityFile(dir)
}

// TLS returns how the manager shows that it is the one of this application; nil: as any
// server does. Wherever it is, its certificate has the name that no unit's has.
func (a Access) TLS() (*tls.Config, error) {
	if a.Authority == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(a.Authority)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authority of the manager's certificate: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool(), ServerName: packager.LocalName}
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", a.Authority)
	}
	return config, nil
}

// asker returns what asks the application's manager.
func asker(dir string, info output.Info) (*http.Client, error) {
	config, err := Access{Authority: authority(dir, info)}.TLS()
	if err != nil {
		return nil, err
	}
	if info.Manager.TLS && config == nil {
		//nolint:gosec // it is asked without a password, and only whether it is ready: nobody here knows its authority
		config = &tls.Config{InsecureSkipVerify: true}
	}
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, DisableKeepAlives: true}}, nil
}
