package unitclient_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/toskose/toskose/manager/unitclient"
)

func TestAUnitThatShowsAnotherNameIsNotTalkedTo(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 8)
	unit := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		asked <- password
		_, _ = io.WriteString(w, `<?xml version="1.0"?><methodResponse><params><param><value><string>no list</string></value></param></params></methodResponse>`)
	}))
	unit.Config.ErrorLog = log.New(io.Discard, "", 0)
	unit.StartTLS() // with a certificate for example.com
	t.Cleanup(unit.Close)
	authority := x509.NewCertPool()
	authority.AddCert(unit.Certificate())
	pool := unitclient.NewTLSPool(patient(unitclient.Limits{}), &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12})
	t.Cleanup(pool.Close)
	addr := netip.MustParseAddrPort(unit.Listener.Addr().String())
	for _, tt := range []struct {
		name  string
		kind  error
		asked int
	}{
		{"example.com", unitclient.ErrBadAnswer, 1}, // it answers, if nonsense
		{"backend", unitclient.ErrUnreachable, 1},
		{"example.com", unitclient.ErrBadAnswer, 2},
	} {
		client := pool.Client(addr, unitclient.Credentials{User: "admin", Passwords: func() []string { return []string{"pw"} }, Name: tt.name})
		if _, err := client.Components(t.Context(), false); !errors.Is(err, tt.kind) {
			t.Errorf("%s: error %v", tt.name, err)
		}
		if len(asked) != tt.asked {
			t.Errorf("%s: the password was sent %d times, not %d", tt.name, len(asked), tt.asked)
		}
	}
}
