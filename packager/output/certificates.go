package output

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"

	"github.com/toskose/toskose/packager"
)

// The validity of new certificates, and the minimum remaining validity of a certificate that is reused.
const (
	validity = 10 * 365 * 24 * time.Hour
	leftover = validity / 4
)

// certify returns the values of all secrets that are certificates or keys. It reuses values of an earlier run that are still
// valid.
func certify(secrets []packager.Secret, old map[string]string, now time.Time) (map[string]string, error) {
	values := map[string]string{}
	if !slices.ContainsFunc(secrets, func(s packager.Secret) bool { return s.TLS != nil }) {
		return values, nil
	}
	was := func(name string) string { // restores the line break that readCredentials trims
		if old[name] == "" {
			return ""
		}
		return old[name] + "\n"
	}
	ca, err := authority(was(packager.TLSAuthority), was(packager.TLSAuthorityFile), now)
	if err != nil {
		return nil, fmt.Errorf("cannot create the certificate authority: %w", err)
	}
	values[packager.TLSAuthority], values[packager.TLSAuthorityFile] = ca.cert, ca.key
	certs := map[string]certificate{}
	for _, s := range secrets {
		if s.TLS == nil || s.TLS.Key || s.TLS.For == "" {
			continue
		}
		one := certificate{cert: was(s.Name), key: was(keyOf(secrets, s.TLS.For))}
		if !one.reusable(ca, s.TLS.Names, now) {
			if one, err = ca.issue(s.TLS, now); err != nil {
				return nil, fmt.Errorf("cannot create the certificate of %q: %w", s.TLS.For, err)
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

// certificate is a certificate and its key, in PEM and parsed.
type certificate struct {
	cert, key string
	leaf      *x509.Certificate
	signer    *ecdsa.PrivateKey
}

// parse parses the PEM data and reports whether the key belongs to the certificate.
func (c *certificate) parse() bool {
	pair, err := tls.X509KeyPair([]byte(c.cert), []byte(c.key))
	if err != nil {
		return false
	}
	var ok bool
	c.signer, ok = pair.PrivateKey.(*ecdsa.PrivateKey)
	c.leaf = pair.Leaf
	return ok && c.leaf != nil
}

// reusable reports whether a certificate is valid for long enough, for these names, and signed by ca.
func (c *certificate) reusable(ca certificate, names []string, now time.Time) bool {
	return c.parse() && c.leaf.CheckSignatureFrom(ca.leaf) == nil && lasts(c.leaf, now) && c.covers(names)
}

// covers reports whether a certificate is for exactly these names.
func (c *certificate) covers(names []string) bool {
	hosts, addresses := split(names)
	return slices.Equal(c.leaf.DNSNames, hosts) && slices.EqualFunc(c.leaf.IPAddresses, addresses, net.IP.Equal)
}

// split separates host names and IP addresses.
func split(names []string) (hosts []string, addresses []net.IP) {
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			addresses = append(addresses, ip)
		} else {
			hosts = append(hosts, name)
		}
	}
	return hosts, addresses
}

func lasts(c *x509.Certificate, now time.Time) bool {
	return now.After(c.NotBefore) && now.Add(leftover).Before(c.NotAfter)
}

// authority returns the earlier authority if it is still valid, or a new one.
func authority(cert, key string, now time.Time) (certificate, error) {
	was := certificate{cert: cert, key: key}
	if was.parse() && was.leaf.IsCA && lasts(was.leaf, now) {
		return was, nil
	}
	return newAuthority("", now)
}

// newAuthority returns a new authority. The number in its name lets servers select which of several authorities must have signed a
// client's certificate.
func newAuthority(number string, now time.Time) (certificate, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "Toskose: the application's own authority", SerialNumber: number}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, MaxPathLenZero: true,
	}
	return issue(template, nil, now)
}

// issue creates the certificate of a service. A unit presents it to the manager, and to itself for its health check.
func (c *certificate) issue(of *packager.TLS, now time.Time) (certificate, error) {
	hosts, addresses := split(of.Names)
	return issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: of.For}, DNSNames: hosts, IPAddresses: addresses, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, c, now)
}

// issue signs a template by an authority, or self-signs it if by is nil.
func issue(template *x509.Certificate, by *certificate, now time.Time) (certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return certificate{}, err
	}
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(validity)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.leaf, by.signer
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return certificate{}, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return certificate{}, err
	}
	out := certificate{
		cert: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		key:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
	}
	out.parse()
	return out, nil
}

// Certificate is a certificate with its key, in PEM.
type Certificate struct{ Cert, Key string }

// NewAuthority returns a new authority with a unique name.
func NewAuthority(now time.Time) (Certificate, error) {
	number, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return Certificate{}, err
	}
	made, err := newAuthority(number.Text(16), now)
	return Certificate{made.cert, made.key}, err
}

// Reissue returns a certificate for the same names as an old one, with a new key, signed by an authority.
func Reissue(old string, by Certificate, now time.Time) (Certificate, error) {
	block, _ := pem.Decode([]byte(old))
	if block == nil {
		return Certificate{}, errors.New("it is not a certificate in PEM")
	}
	was, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Certificate{}, err
	}
	ca := certificate{cert: by.Cert, key: by.Key}
	if !ca.parse() {
		return Certificate{}, errors.New("the authority's key does not match its certificate")
	}
	names := slices.Clone(was.DNSNames)
	for _, ip := range was.IPAddresses {
		names = append(names, ip.String())
	}
	made, err := ca.issue(&packager.TLS{For: was.Subject.CommonName, Names: names}, now)
	return Certificate{made.cert, made.key}, err
}
