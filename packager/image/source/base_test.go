package source

import (
	"context"
	"io"
	"io/fs"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// passwd is a base with a file.
func passwd(user, text string) *Image {
	return &Image{Config: &v1.ConfigFile{Config: v1.Config{User: user}}, File: func(_ context.Context, name string) (io.Reader, error) {
		if name != "etc/passwd" || text == "" {
			return nil, fs.ErrNotExist
		}
		return strings.NewReader(text), nil
	}}
}

func TestTheOwnerIsTheBasesUser(t *testing.T) {
	t.Parallel()
	text := "root:x:0:0::/:\nweb:x:33:33::/:\napp:x:1000:1000::/:\n"
	for user, want := range map[string]int{"": 0, "root": 0, "0": 0, "app": 1000, "1000:1000": 1000, "app:web": 1000, "root:web": 0, "web": 33} {
		if got, err := userID(t.Context(), passwd(user, text)); err != nil || got != want {
			t.Errorf("%q: %d, want %d; %v", user, got, want, err)
		}
	}
	if _, err := userID(t.Context(), passwd("nobody", text)); err == nil || !strings.Contains(err.Error(), `"nobody", which is not in its /etc/passwd`) {
		t.Errorf("unknown: %v", err)
	}
	if _, err := userID(t.Context(), passwd("app", "")); err == nil || !strings.Contains(err.Error(), "no /etc/passwd") {
		t.Errorf("no file: %v", err)
	}
}
