package testbrowser

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// look.js is what is asked of a page that people look at: how each view is laid out and
// coloured.
//
//go:embed look.js
var lookScript string

// Widths are those of a phone, a tablet and a desk.
var Widths = []int64{320, 768, 1440}

// height is that of all windows.
const height = 900

// Look looks at what a window shows, on a phone, a tablet and a desk, in the light and in
// the dark: what is too wide, cannot be read or hit, or has no heading is an error.
// TOSKOSE_VIEWS is a folder for pictures of all of it. The window is left as wide as it was.
func (b *Window) Look(name string) {
	b.t.Helper()
	was := Ask[int64](b, `innerWidth`)
	folder := os.Getenv("TOSKOSE_VIEWS")
	for _, width := range Widths {
		b.Resize(width)
		for _, scheme := range []string{"light", "dark"} {
			if folder == "" && scheme == "dark" && width != Widths[0] {
				continue // the colours of one width are those of the others
			}
			b.Prefer("prefers-color-scheme", scheme)
			for _, wrong := range Ask[[]string](b, lookScript) {
				b.t.Errorf("%s, %d pixels, %s: %s", name, width, scheme, wrong)
			}
			if folder != "" {
				b.pictureWhole(filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), width)
			}
		}
	}
	b.Prefer("prefers-color-scheme", "light")
	b.Resize(was)
}

// pictureWhole takes a picture of all of a page, also of what is below the window: that is made
// as high, since browsers leave out what they believe is not seen.
func (b *Window) pictureWhole(path string, width int64) {
	b.t.Helper()
	whole := min(2400, Ask[int64](b, `document.documentElement.scrollHeight`))
	if whole > height {
		b.do(chromedp.EmulateViewport(width, whole))
		b.settle()
		defer b.Resize(width)
	}
	b.shoot(path)
}

// shoot takes a picture of the window.
func (b *Window) shoot(path string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// Resize makes a window that wide.
func (b *Window) Resize(width int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
	b.settle()
}

// Prefer has the page drawn for those who prefer a value of a media feature.
func (b *Window) Prefer(feature, value string) {
	b.t.Helper()
	b.call(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: feature, Value: value}},
		})
		return err
	})
	b.settle()
}

// settle waits until what was changed is drawn.
func (b *Window) settle() {
	b.t.Helper()
	Ask[bool](b, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

// Cut has requests to paths that begin with one of these not answered; with none, all are.
func (b *Window) Cut(paths ...string) {
	b.t.Helper()
	patterns := []*network.BlockPattern{}
	for _, path := range paths {
		patterns = append(patterns, &network.BlockPattern{URLPattern: b.url + path + "*", Block: true})
	}
	b.call(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: patterns})
		return err
	})
}
