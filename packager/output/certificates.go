package output

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/toskose/toskose/packager"
)

// authorityKey is the file of the key that signs an application's
// certificates. No container has it.
const authorityKey = "tls-ca.key"

// How long certificates are valid, and how much of that has to be left for one
// to be used again.
const (
	validity = 10 * 365 * 24 * time.Hour
	leftover = validity / 4
)

// certify gives the values of all secrets that are certificates or their keys:
// those of an earlier run where they are still good, else new ones.
func certify(secrets []packager.Secret, old map[string]string, now time.Time) (map[string]string, error) {
	values := map[string]string{}
	if !slices.ContainsFunc(secrets, func(s packager.Secret) bool { return s.TLS != nil }) {
		return values, nil
	}
	was := func(name string) string { // a password's file ends in no line break, so none was read
		if old[name] == "" {
			return ""
		}
		return old[name] + "\n"
	}
	ca, err := authority(was(packager.TLSAuthority), was(authorityKey), now)
	if err != nil {
		return nil, fmt.Errorf("cannot make the authority of certificates: %w", err)
	}
	values[packager.TLSAuthority], values[authorityKey] = ca.cert, ca.key
	certs := map[string]issued{}
	for _, s := range secrets {
		if s.TLS == nil || s.TLS.Key || s.TLS.For == "" {
			continue
		}
		one := issued{cert: was(s.Name), key: was(keyOf(secrets, s.TLS.For))}
		if !one.good(ca, s.TLS.Names, now) {
			if one, err = ca.issue(s.TLS, now); err != nil {
				return nil, fmt.Errorf("cannot make the certificate of %q: %w", s.TLS.For, err)
			}
		}
		certs[s.TLS.For] = one
	}
	for _, s := range secrets {
		switch {
		case s.TLS == nil || s.TLS.For == "":
		case s.TLS.Key:
			values[s.Name] = certs[s.TLS.For].key
		default:
			values[s.Name] = certs[s.TLS.For].cert
		}
	}
	return values, nil
}

func keyOf(secrets []packager.Secret, service string) string {
	i := slices.IndexFunc(secrets, func(s packager.Secret) bool { return s.TLS != nil && s.TLS.Key && s.TLS.For == service })
	if i < 0 {
		return ""
	}
	return secrets[i].Name
}

// issued is a certificate and its key, as PEM, and read.
type issued struct {
	cert, key string
	leaf      *x509.Certificate
	signer    *ecdsa.PrivateKey
}

// read reads the PEM and tells whether the two belong together.
func (i *issued) read() bool {
	pair, err := tls.X509KeyPair([]byte(i.cert), []byte(i.key))
	if err != nil {
		return false
	}
	var ok bool
	i.signer, ok = pair.PrivateKey.(*ecdsa.PrivateKey)
	i.leaf = pair.Leaf
	return ok && i.leaf != nil
}

// good tells whether a certificate can be used again.
func (i *issued) good(ca issued, names []string, now time.Time) bool {
	return i.read() && i.leaf.CheckSignatureFrom(ca.leaf) == nil && lasts(i.leaf, now) && slices.Equal(i.leaf.DNSNames, names)
}

func lasts(c *x509.Certificate, now time.Time) bool {
	return now.After(c.NotBefore) && now.Add(leftover).Before(c.NotAfter)
}

// authority gives what signs: the one there was, or a new one.
func authority(cert, key string, now time.Time) (issued, error) {
	was := issued{cert: cert, key: key}
	if was.read() && was.leaf.IsCA && lasts(was.leaf, now) {
		return was, nil
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "Toskose: the application's own authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, MaxPathLenZero: true,
	}
	return issue(template, nil, now)
}

// issue makes the certificate of a service. A unit shows it to the manager and,
// when it asks itself for its health, to itself.
func (i *issued) issue(of *packager.TLS, now time.Time) (issued, error) {
	return issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: of.For}, DNSNames: of.Names, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, i, now)
}

// issue signs a template by an authority, or by itself.
func issue(template *x509.Certificate, by *issued, now time.Time) (issued, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return issued{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return issued{}, err
	}
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(validity)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.leaf, by.signer
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return issued{}, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return issued{}, err
	}
	out := issued{
		cert: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		key:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
	}
	out.read()
	return out, nil
}
