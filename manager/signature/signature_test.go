package signature_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/toskose/toskose/manager/signature"
	"github.com/toskose/toskose/unit/wire"
)

func TestASignedDocumentIsVerifiedAndReturnedUnchanged(t *testing.T) {
	t.Parallel()
	before, now := signature.NewKeys([]string{"old"}), signature.NewKeys([]string{"new", "old"})
	d := wire.Document{Revision: wire.Revision{Counter: 3, ID: "abc"}, Content: []byte(`{"revision":"3:abc","all":"up"}`)}
	for _, keys := range []signature.Keys{before, now} {
		text := keys.Sign("goal", d)
		if !json.Valid(text) || len(text) > len(d.Content)+signature.MaxSize {
			t.Errorf("%s", text)
		}
		s, err := now.Verify("goal", text)
		if err != nil || !bytes.Equal(s.Content, d.Content) || s.Revision != "3:abc" || s.Key != keys.Current() {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if text := signature.Keys(nil).Sign("goal", d); !bytes.Equal(text, d.Content) {
		t.Errorf("without a key: %s", text)
	}
}

func TestADocumentThatWasChangedDoesNotVerify(t *testing.T) {
	t.Parallel()
	keys := signature.NewKeys([]string{"secret"})
	d := wire.Document{Revision: wire.Revision{Counter: 3, ID: "abc"}, Content: []byte(`{"revision":"3:abc","all":"up"}`)}
	text := keys.Sign("goal", d)
	for name, tt := range map[string]struct {
		keys     signature.Keys
		document string
		text     []byte
		want     error
	}{
		"another content":    {keys, "goal", bytes.Replace(text, []byte("up"), []byte("no"), 1), signature.ErrInvalid},
		"another revision":   {keys, "goal", bytes.Replace(text, []byte(`"signature":{"revision":"3`), []byte(`"signature":{"revision":"4`), 1), signature.ErrInvalid},
		"another name":       {keys, "targets", text, signature.ErrInvalid},
		"another key":        {signature.NewKeys([]string{"other"}), "goal", text, signature.ErrInvalid},
		"another hmac":       {keys, "goal", append(bytes.Clone(text[:len(text)-4]), []byte(`0"}}`)...), signature.ErrInvalid},
		"no signature":       {keys, "goal", d.Content, signature.ErrUnsigned},
		"not the last field": {keys, "goal", append(bytes.Clone(text[:len(text)-1]), []byte(`,"tasks":{}}`)...), signature.ErrUnsigned},
		"nothing":            {keys, "goal", nil, signature.ErrUnsigned},
	} {
		if _, err := tt.keys.Verify(tt.document, tt.text); !errors.Is(err, tt.want) {
			if name == "another hmac" && bytes.Equal(tt.text, text) {
				continue // its last digit is 0
			}
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	keys := signature.NewKeys([]string{"secret"})
	f.Add(keys.Sign("goal", wire.Document{Revision: wire.Revision{Counter: 1, ID: "a"}, Content: []byte(`{"a":1}`)}))
	f.Add([]byte(`,"signature":{"revision":"1:a","key":"00000000","hmac":""}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := keys.Verify("goal", text)
		if err == nil && !bytes.Equal(keys.Sign("goal", wire.Document{Revision: parse(t, s.Revision), Content: s.Content}), text) {
			t.Errorf("%q verifies, and was not signed", text)
		}
	})
}

func parse(t *testing.T, text string) wire.Revision {
	t.Helper()
	r, err := wire.ParseRevision(text)
	if err != nil {
		t.Error(err)
	}
	return r
}
