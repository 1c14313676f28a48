package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"
)

// bootstrap is the response to a machine that joins.
type bootstrap struct {
	Files map[string][]byte `json:"files"` // in tlsDir
	Etcd  string            `json:"etcd"`  // --initial-cluster; servers only
}

// doorman answers machines that join, one after the other.
type doorman struct {
	token string
	busy  sync.Mutex
}

func (d *doorman) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/cacerts" {
		data, _ := os.ReadFile(path("ca.crt"))
		_, _ = w.Write(data)
		return
	}
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+d.token)) != 1 {
		http.Error(w, "another token", http.StatusUnauthorized)
		return
	}
	d.busy.Lock()
	defer d.busy.Unlock()
	b, err := admit(r.Context(), r.FormValue("name"), r.FormValue("ip"), r.FormValue("agent") == "true", r.FormValue("member") == "true")
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(b)
}

// admit returns the files for a machine. A server that is a member of etcd already keeps its place.
func admit(ctx context.Context, name, ip string, agent, isMember bool) (bootstrap, error) {
	b := bootstrap{Files: map[string][]byte{}}
	names := []string{"ca.crt", "ca.key", "sa.key"}
	if agent {
		names = []string{"ca.crt", "admin.crt", "admin.key"}
	}
	for _, n := range names {
		data, err := os.ReadFile(path(n))
		if err != nil {
			return b, err
		}
		b.Files[n] = data
	}
	if agent || isMember {
		return b, nil
	}
	var err error
	b.Etcd, err = addMember(ctx, name, ip)
	return b, err
}

// join gets the files of this machine from the server that the configuration names.
func (c config) join(ctx context.Context, isMember bool) (string, error) {
	address, err := c.joinAddress()
	if err != nil {
		return "", err
	}
	var b bootstrap
	err = await(ctx, "the server "+address, func() error {
		authority, err := c.authority(ctx, address)
		if err != nil {
			return err
		}
		values := url.Values{"name": {c.Name}, "ip": {c.IP}, "agent": {fmt.Sprint(c.agent)}, "member": {fmt.Sprint(isMember)}}
		text, err := get(ctx, &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS13}, address+"/join?"+values.Encode(), c.token)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &b)
	})
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(tlsDir, 0o700); err != nil {
		return "", err
	}
	for name, data := range b.Files {
		if err := os.WriteFile(path(name), data, 0o600); err != nil {
			return "", err
		}
	}
	return b.Etcd, nil
}

// authority returns the certificate authority of a server: one with the digest in the token or, without a digest, any.
func (c config) authority(ctx context.Context, address string) (*x509.CertPool, error) {
	text, err := get(ctx, &tls.Config{InsecureSkipVerify: true}, address+"/cacerts", "") //nolint:gosec // the digest verifies it
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	if c.digest != "" && hex.EncodeToString(sum[:]) != c.digest {
		return nil, permanent{errors.New("its certificate authority has another digest than the token")}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("it has no certificate authority")
	}
	return pool, nil
}

func get(ctx context.Context, verify *tls.Config, address, token string) ([]byte, error) {
	transport := &http.Transport{TLSClientConfig: verify, DisableKeepAlives: true}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		err = permanent{errors.New("it refuses the token")}
	}
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return text, err
}
