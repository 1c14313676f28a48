package browser

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// Frame is the time that one frame took on the page's main thread: scripts, style, layout and
// paint.
type Frame struct {
	Whole     float64 // ms, also while others had the processor
	Processor float64 // ms
}

// traced is one event of a browser's trace (Trace Event Format).
type traced struct {
	Name  string  `json:"name"`
	Phase string  `json:"ph"`
	PID   int     `json:"pid"`
	Took  float64 `json:"dur"`  // µs
	Busy  float64 `json:"tdur"` // µs
}

// Frames returns the frames of the page that drew most while f ran, as the browser itself
// traced them.
func (b *Window) Frames(f func()) []Frame {
	b.t.Helper()
	var mu sync.Mutex
	of, total := map[int][]Frame{}, map[int]float64{}
	complete := make(chan struct{})
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	err := chromedp.ListenBrowser(ctx, func(event any) {
		switch e := event.(type) {
		case *tracing.EventDataCollected:
			mu.Lock()
			defer mu.Unlock()
			for _, value := range e.Value {
				var one traced
				if text, err := json.Marshal(value); err != nil || json.Unmarshal(text, &one) != nil || one.Phase != "X" || one.Name != "ProxyMain::BeginMainFrame" {
					continue
				}
				of[one.PID] = append(of[one.PID], Frame{one.Took / 1000, one.Busy / 1000})
				total[one.PID] += one.Busy
			}
		case *tracing.EventTracingComplete:
			close(complete)
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.call(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.CallBrowser(ctx, tracing.Start, tracing.StartParams{
			TransferMode: "ReportEvents", TraceConfig: &tracing.TraceConfig{IncludedCategories: []string{"cc"}},
		})
		return err
	})
	f()
	b.call(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.CallBrowser(ctx, tracing.End, cdp.Empty{})
		return err
	})
	select {
	case <-complete:
	case <-time.After(patience):
		b.t.Fatal("the trace does not end")
	}
	mu.Lock()
	defer mu.Unlock()
	busiest := 0
	for pid := range total {
		if total[pid] > total[busiest] {
			busiest = pid
		}
	}
	return of[busiest]
}
