// Package signature signs the documents that units store for the manager, and verifies them when they are read
// back. Units are storage, not authority: anyone with a unit's password can store a document there, but cannot
// sign it.
//
// All functions are pure. The package starts no goroutine.
package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"

	"github.com/toskose/toskose/unit/wire"
)

// ErrUnsigned is returned for a document without a signature: an older manager that did not sign documents wrote
// it, or another program did.
var ErrUnsigned = errors.New("it has no signature")

// ErrInvalid is returned for a document that no known key has signed.
var ErrInvalid = errors.New("its signature is not this manager's")

// Key signs documents of one application and verifies them.
type Key struct {
	id     string
	secret []byte
}

// Keys verify documents. The first one signs them.
type Keys []Key

// NewKeys derives one key from each secret. The first secret is the current one; the others are accepted during
// rotation.
func NewKeys(secrets []string) Keys {
	keys := make(Keys, len(secrets))
	for i, secret := range secrets {
		derived := hmac.New(sha256.New, []byte(secret))
		derived.Write([]byte("toskose: documents that units store"))
		key := derived.Sum(nil)
		sum := sha256.Sum256(key)
		keys[i] = Key{hex.EncodeToString(sum[:4]), key}
	}
	return keys
}

// Current returns the id of the signing key; empty if there is none. It reveals nothing about the key.
func (k Keys) Current() string {
	if len(k) == 0 {
		return ""
	}
	return k[0].id
}

// member is the signature as the last member of a document, which is a JSON object.
var member = regexp.MustCompile(`^,"signature":\{"revision":"([0-9]{1,20}:[0-9A-Za-z]{1,64})","key":"([0-9a-f]{8})","hmac":"([0-9a-f]{64})"\}\}$`)

// MaxSize is the maximum number of bytes that a signature adds to a document.
const MaxSize = 256

const memberName = `,"signature":{`

// Sign returns a document with a signature as its last member, so that the bytes before it are the signed ones.
// The content must be a non-empty JSON object. Without a key, it is returned unchanged.
func (k Keys) Sign(name string, d wire.Document) []byte {
	if len(k) == 0 {
		return d.Content
	}
	revision := d.Revision.String()
	sum := k[0].sum(name, revision, d.Content)
	return fmt.Appendf(bytes.TrimSuffix(bytes.Clone(d.Content), []byte("}")),
		`%srevision":"%s","key":"%s","hmac":"%s"}}`, memberName+`"`, revision, k[0].id, hex.EncodeToString(sum))
}

// Signed is a document with a signature.
type Signed struct {
	Content  []byte // without the signature
	Revision string // the signed revision; if it differs from the content's, it is left over from an earlier one
	Key      string // the id of the signing key
}

// Verify returns the signed document, ErrUnsigned or ErrInvalid. The content is set with either error, too.
func (k Keys) Verify(name string, text []byte) (Signed, error) {
	at := bytes.LastIndex(text, []byte(memberName))
	if at < 0 {
		return Signed{Content: text}, ErrUnsigned
	}
	found := member.FindSubmatch(text[at:])
	if found == nil {
		return Signed{Content: text}, ErrUnsigned
	}
	s := Signed{Content: append(bytes.Clone(text[:at]), '}'), Revision: string(found[1]), Key: string(found[2])}
	sum, err := hex.DecodeString(string(found[3]))
	if err != nil {
		return s, ErrInvalid
	}
	for _, key := range k {
		if key.id == s.Key && hmac.Equal(sum, key.sum(name, s.Revision, s.Content)) {
			return s, nil
		}
	}
	return s, ErrInvalid
}

// sum authenticates a document: its name, so that it cannot be stored under another one, its revision and its
// content.
func (k Key) sum(name, revision string, content []byte) []byte {
	mac := hmac.New(sha256.New, k.secret)
	fmt.Fprintf(mac, "%s\x00%s\x00", name, revision)
	mac.Write(content)
	return mac.Sum(nil)
}
