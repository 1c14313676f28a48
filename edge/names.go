package edge

import (
	"crypto/sha1" //nolint:gosec // RFC 9562 defines UUIDs of version 5 by it
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strings"
)

var (
	dnsLabel      = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	interfaceForm = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.@]{0,14}$`)
	uuidForm      = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	digestForm    = regexp.MustCompile(`^[0-9a-f]{64}$`)

	labelWord   = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelDomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
)

// CheckLabel returns an error if Kubernetes refuses a label, or does not let a kubelet set it on its own Node.
func CheckLabel(key, value string) error {
	domain, word, prefixed := strings.Cut(key, "/")
	if !prefixed {
		domain, word = "", key
	}
	switch {
	case !labelWord.MatchString(word) || prefixed && !labelDomain.MatchString(domain):
		return fmt.Errorf("%q is not the key of a Kubernetes label", key)
	case value != "" && !labelWord.MatchString(value):
		return fmt.Errorf("%q is not the value of a Kubernetes label (%s)", value, key)
	case reservedDomain(domain):
		return fmt.Errorf("label %q: a machine cannot set labels of %s on its own Node", key, domain)
	}
	return nil
}

// reservedDomain reports whether Kubernetes lets only administrators set labels of a domain.
func reservedDomain(domain string) bool {
	for _, own := range []string{"node.kubernetes.io", "kubelet.kubernetes.io"} {
		if domain == own || strings.HasSuffix(domain, "."+own) {
			return false
		}
	}
	for _, reserved := range []string{"kubernetes.io", "k8s.io"} {
		if domain == reserved || strings.HasSuffix(domain, "."+reserved) {
			return true
		}
	}
	return false
}

// ParseLabels reads labels that are written as KEY=VALUE, or as KEY- to remove one.
func ParseLabels(words []string) (set map[string]string, remove []string, err error) {
	set = map[string]string{}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok && strings.HasSuffix(word, "-") {
			remove = append(remove, strings.TrimSuffix(word, "-"))
			continue
		}
		if !ok {
			return nil, nil, fmt.Errorf("%q is not KEY=VALUE, nor KEY- to remove a label", word)
		}
		if _, twice := set[key]; twice {
			return nil, nil, fmt.Errorf("label %q is given twice", key)
		}
		if err := CheckLabel(key, value); err != nil {
			return nil, nil, err
		}
		set[key] = value
	}
	return set, remove, nil
}

// NewID draws a UUID of version 4.
func NewID(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("cannot draw a UUID: %w", err)
	}
	return formatUUID(b, 4), nil
}

// idOf derives a UUID of version 5 from the cluster's and from words: the same words always give the same one.
func (d Document) idOf(words ...string) string {
	space, _ := hex.DecodeString(strings.ReplaceAll(d.ID, "-", "")) // it has been checked
	sum := sha1.Sum(append(space, strings.Join(words, "\x00")...))  //nolint:gosec // see the import
	return formatUUID([16]byte(sum[:16]), 5)
}

func formatUUID(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
