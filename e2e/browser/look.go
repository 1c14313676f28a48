package browser

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

// look.js is the script that measures a page's layout and colours.
//
//go:embed look.js
var lookScript string

// Widths are the widths of a phone, a tablet and a desktop window.
var Widths = []int64{320, 768, 1440}

// height is the height of all windows.
const height = 900

// Look checks the view in a window on a phone, a tablet and a desktop, in light and dark mode:
// content that is too wide, illegible, too small to tap or without a heading is an error. If
// TOSKOSE_VIEWS names a folder, it saves screenshots there. It restores the window's width.
func (b *Window) Look(name string) {
	b.t.Helper()
	was := Ask[int64](b, `innerWidth`)
	folder := os.Getenv("TOSKOSE_VIEWS")
	for _, width := range Widths {
		b.Resize(width)
		for _, scheme := range []string{"light", "dark"} {
			if folder == "" && scheme == "dark" && width != Widths[0] {
				continue // colours do not depend on the width
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

// pictureWhole takes a screenshot of a complete page. It first enlarges the window to the page's
// height, as browsers do not draw content outside the window.
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

// Prefer emulates a value of a media feature.
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

// settle waits until changes are drawn.
func (b *Window) settle() {
	b.t.Helper()
	Ask[bool](b, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

// Cut blocks requests to paths with one of the given prefixes; without prefixes, it unblocks all.
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
