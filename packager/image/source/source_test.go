package source

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestACacheComputesAValueOnce(t *testing.T) {
	t.Parallel()
	var cache Cache[string]
	var calls atomic.Int32
	broken := errors.New("broken")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			value, err := cache.Get("a", func() (string, error) {
				calls.Add(1)
				return "value", broken
			})
			if value != "value" || !errors.Is(err, broken) {
				t.Errorf("%q, %v", value, err)
			}
		})
	}
	all.Wait()
	if other, err := cache.Get("b", func() (string, error) { return "other", nil }); calls.Load() != 1 || other != "other" || err != nil {
		t.Errorf("computed %d times; another key has %q, %v", calls.Load(), other, err)
	}
}

func TestAHistoryIsKnownWhereTheSizesSayWhichStepsMadeLayers(t *testing.T) {
	t.Parallel()
	steps := []image.HistoryResponseItem{{CreatedBy: "CMD"}, {CreatedBy: "COPY", Size: 7}, {CreatedBy: "ADD", Size: 5}} // newest first
	history := historyOf(steps, 2)
	var names []string
	for _, h := range history {
		names = append(names, h.CreatedBy)
	}
	if !slices.Equal(names, []string{"ADD", "COPY", "CMD"}) || history[0].EmptyLayer || !history[2].EmptyLayer {
		t.Errorf("the history is %+v", history)
	}
	if got := historyOf(steps, 3); got != nil { // a step made an empty layer
		t.Errorf("of three layers it is %+v", got)
	}
}

func TestAnImageOfAnEngineFitsThePlatform(t *testing.T) {
	t.Parallel()
	arm := image.InspectResponse{Architecture: "arm64", Os: "linux"}
	for platform, want := range map[string]string{"linux/arm64": "", "linux/amd64": "it for linux/arm64, not for linux/amd64"} {
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := mismatch(arm, nil, *p); got != want || err != nil {
			t.Errorf("%s: %q, %v", platform, got, err)
		}
	}
	if got, err := mismatch(image.InspectResponse{}, errdefs.ErrNotFound, v1.Platform{}); got != "none" || err != nil {
		t.Errorf("a missing image: %q, %v", got, err)
	}
	if _, err := mismatch(image.InspectResponse{}, errdefs.ErrUnavailable, v1.Platform{}); err == nil {
		t.Error("an engine that does not answer has an image")
	}
}
