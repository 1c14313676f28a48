package docker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toskose/toskose/packager/image/event"
)

func TestWhatTheEngineSaysIsFollowedToItsError(t *testing.T) {
	t.Parallel()
	e := &Engine{Log: &event.Log{}}
	for stream, want := range map[string]string{
		`{"stream":"Step 1\n"}{"status":"Pulling","id":"x"}`: "",
		`{"stream":"a"}{"error":"no space left\n"}`:          "no space left",
		`{"stream":"a"}{"str`:                                "the engine's answer broke off: unexpected EOF",
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
