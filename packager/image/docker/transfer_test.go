package docker

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/image/event"
)

func TestWhatTheEngineSaysIsFollowedToItsError(t *testing.T) {
	t.Parallel()
	e := &Engine{Log: &event.Log{}}
	for stream, want := range map[string]string{
		`{"stream":"Step 1\n"}{"status":"Pulling","id":"x"}`: "",
		`{"stream":"a"}{"error":"no space left\n"}`:          "no space left",
		`{"stream":"a"}{"str`:                                "the engine's response is incomplete: unexpected EOF",
	} {
		err := e.follow(strings.NewReader(stream), func(message) {})
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && got != want {
			t.Errorf("%s: %v", stream, err)
		}
	}
}

func TestTheStepsOfABuildAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"Step 7/12 : ADD a /\n": 7, " ---> Using cache\n": 0, "Step by step": 0, "": 0} {
		if step, _ := stepOf(text); step != want {
			t.Errorf("%q is step %d", text, step)
		}
	}
}

// An engine goes on with the layers of earlier builds, and lets others remove them meanwhile.
func TestABuildWhoseLayersAnotherRemovesIsBegunAgain(t *testing.T) {
	t.Parallel()
	const lost = `{"stream":"Step 1/2 : FROM scratch\n"}{"error":"No such image: sha256:0123"}`
	for name, test := range map[string]struct {
		answers   []string
		want      string
		attempted int
	}{
		"removed three times": {[]string{
			lost, `{"error":"unable to find image \"sha256:0123\""}`, `{"error":"failed to get digest sha256:0123: open content/sha256/0123: no such file or directory"}`, `{"aux":{"ID":"sha256:4567"}}`,
		}, "", 4},
		"removed every time":  {[]string{lost, lost, lost, lost, lost}, "No such image: sha256:0123", 4},
		"another has no base": {[]string{`{"error":"No such image: base:1"}`, lost}, "No such image: base:1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attempted, named := 0, ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tag := r.URL.Query().Get("tag"); tag != "" {
					named = r.URL.Path + ":" + tag
					w.WriteHeader(http.StatusCreated)
					return
				}
				if r.Method == http.MethodGet {
					fmt.Fprint(w, "[]")
					return
				}
				if got, _ := io.ReadAll(r.Body); string(got) != "the context" {
					t.Errorf("the engine was sent %q", got)
				}
				fmt.Fprint(w, test.answers[attempted])
				attempted++
			}))
			t.Cleanup(server.Close)
			engine, err := client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithVersion("1.41"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { engine.Close() })
			write := func(_ context.Context, w io.Writer) error {
				_, err := io.WriteString(w, "the context")
				return err
			}
			e := &Engine{Client: engine, Log: &event.Log{}}
			err = e.Build(t.Context(), BuildRequest{Name: "app-node:1", Bytes: 11, WriteContext: write, Output: func(string) {}})
			if got := fmt.Sprint(err); test.want == "" && err != nil || test.want != "" && got != test.want {
				t.Errorf("it ended with %v, want %q", err, test.want)
			}
			if attempted != test.attempted {
				t.Errorf("%d attempts, want %d", attempted, test.attempted)
			}
			if done := "/v1.41/images/sha256:4567/tag:1"; test.want == "" && named != done {
				t.Errorf("named %q, want %q", named, done)
			}
		})
	}
}
