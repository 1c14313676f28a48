package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// tlsDir has ca.crt, ca.key, sa.key and the certificates of this machine.
const tlsDir = stateDir + "/tls"

func path(name string) string { return filepath.Join(tlsDir, name) }

// makeAuthority makes the certificate authority of a new cluster, and the key of its service accounts.
func makeAuthority() error {
	if _, err := os.Stat(path("ca.key")); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "standin"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	account, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := writePEM("ca.crt", "CERTIFICATE", der); err != nil {
		return err
	}
	return errors.Join(writeKey("sa.key", account), writeKey("ca.key", key)) // the latter marks it as complete
}

func writePEM(name, kind string, der []byte) error {
	if err := os.MkdirAll(tlsDir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(name, "EC PRIVATE KEY", der)
}

// issue makes NAME.crt and NAME.key, signed by the authority: for a server with these names, or for a user in a group.
func issue(name, user, group string, names ...string) error {
	authority, signer, err := readAuthority()
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: user}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), signer)
	if err != nil {
		return err
	}
	return errors.Join(writePEM(name+".crt", "CERTIFICATE", der), writeKey(name+".key", key))
}

func readAuthority() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	der, err := readPEM("ca.crt")
	if err != nil {
		return nil, nil, err
	}
	authority, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	if der, err = readPEM("ca.key"); err != nil {
		return nil, nil, err
	}
	key, err := x509.ParseECPrivateKey(der)
	return authority, key, err
}

func readPEM(name string) ([]byte, error) {
	data, err := os.ReadFile(path(name))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s has no PEM block", name)
	}
	return block.Bytes, nil
}

// writeKubeconfig writes a kubeconfig of the administrator for a server.
func writeKubeconfig(file, server string) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: default, cluster: {server: %q, certificate-authority: %s}}]
users: [{name: default, user: {client-certificate: %s, client-key: %s}}]
contexts: [{name: default, context: {cluster: default, user: default}}]
current-context: default
`, server, path("ca.crt"), path("admin.crt"), path("admin.key"))
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}
