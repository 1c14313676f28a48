//go:build !windows

package web_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/toskose/toskose/e2e/browser"
	"github.com/toskose/toskose/spec/protocol"
)

// beyond lists what is neither in the window of the drawing nor counted at one of its edges.
const beyond = `(() => {
	const c = document.querySelector('.canvas').getBoundingClientRect();
	const outside = [...document.querySelectorAll('.part')].map(e => e.querySelector('.shape').getBoundingClientRect()).filter(r => { const h = Math.min(8, r.height / 2), w = Math.min(8, r.width / 2); return r.bottom < c.top + h || r.top > c.bottom - h || r.right < c.left + w || r.left > c.right - w; }).length;
	const counted = [...document.querySelectorAll('.beyond:not([hidden])')].reduce((n, e) => n + parseInt(e.textContent.slice(2)), 0);
	return outside - counted;
})()`

// tiny lists labels that are drawn with less than ten pixels.
const tiny = `[...document.querySelectorAll('.sheet text:not(.dot):not(.sign)')].filter(e => e.checkVisibility() && (e.querySelector('.label')?.checkVisibility() ?? true) && e.textContent.trim() && e.getBBox().width > 0)
	.filter(e => { const m = e.getScreenCTM(); return parseFloat(getComputedStyle(e).fontSize) * m.a < 9.9; }).map(e => e.textContent + ' ' + e.getScreenCTM().a.toFixed(2)).slice(0, 5)`

const settled = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))`

// The drawing of a small and of a very large application fits, and what is outside the window is counted.
func TestTheGraphFits(t *testing.T) {
	for _, n := range []int{3, 30, 300, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			l := newLarge(n)
			b := browser.Open(t, serve(t, l, &atomic.Bool{}).URL, 1440, nobody)
			b.SignIn("admin", "pw")
			b.Says(fmt.Sprintf("[data-box=component%03d]", n-1), protocol.Running)
			check := func(what string) {
				t.Helper()
				browser.Ask[bool](b, settled)
				if lost := browser.Ask[int](b, beyond); lost != 0 {
					t.Errorf("%s: %d containers are outside the window, and not counted", what, lost)
				}
				if small := browser.Ask[[]string](b, tiny); len(small) > 0 {
					t.Errorf("%s: labels are too small: %q", what, small)
				}
			}
			for _, width := range browser.Widths {
				b.Resize(width)
				if width < 560 {
					b.ClickText("button", "Show the graph")
				}
				check(fmt.Sprintf("opened, %d pixels", width))
				b.Ask(`[...document.querySelectorAll('.zoom button')].find(e => e.textContent === 'Fit').click()`)
				check(fmt.Sprintf("fitted, %d pixels", width))
				if shown := browser.Ask[int](b, `document.querySelectorAll('.beyond:not([hidden])').length`); shown > 0 {
					t.Errorf("%d pixels: it is fitted, and not all of it is in the window", width)
				}
				b.Ask(`[...document.querySelectorAll('.zoom button')].find(e => e.getAttribute('aria-label') === 'Zoom in').click()`)
				check(fmt.Sprintf("larger, %d pixels", width))
			}
			b.Resize(1440)
			b.Reload()
			b.Says(fmt.Sprintf("[data-box=component%03d]", n-1), protocol.Running)
			entry := fmt.Sprintf(`[data-tile=container%03[1]d] .shape, [data-box=container%03[1]d] .shape`, (n-1)/perContainer) // nothing requires it
			if first := browser.Ask[bool](b, fmt.Sprintf(`(() => { const c = document.querySelector('.canvas').getBoundingClientRect(), r = document.querySelector(%q).getBoundingClientRect(); return r.top >= c.top && r.left >= c.left && r.right <= c.right; })()`, entry)); !first {
				t.Error("the entry point is not in the window first")
			}
			if n == 1000 { // drawn, or as a list
				b.Look("graph-1000-list")
			}
			b.Resize(320)
			b.ClickText("button", "Show the graph")
			b.Look(fmt.Sprintf("graph-%d", n))
			b.Resize(1440)
			moves(t, b)
		})
	}
}

// moves drags the drawing, of which only a transform changes, in frames short enough for 60 in a second.
func moves(t *testing.T, b *browser.Window) {
	t.Helper()
	b.Ask(`(() => { window.changes = new Set(); new MutationObserver(all => { for (const m of all) window.changes.add(m.target.className?.baseVal ?? m.target.className); }).observe(document.querySelector('.sheet'), {subtree: true, attributes: true, childList: true}); })()`)
	frames := b.Frames(func() {
		browser.Ask[bool](b, `new Promise(done => {
			const box = document.querySelector('.canvas'), r = box.getBoundingClientRect();
			const send = (type, i) => box.dispatchEvent(new PointerEvent(type, {bubbles: true, cancelable: true, pointerId: 1, button: type === 'pointermove' ? -1 : 0, clientX: r.x + 200 - i, clientY: r.y + 100 - i}));
			box.setPointerCapture = () => {};
			send('pointerdown', 0);
			let i = 0;
			const step = () => { send('pointermove', ++i * 3); if (i < 40) requestAnimationFrame(step); else { send('pointerup', i * 3); done(true); } };
			requestAnimationFrame(step);
		})`)
	})
	times := make([]float64, len(frames))
	for i, f := range frames {
		times[i] = f.Processor
	}
	slices.Sort(times)
	if len(times) < 20 || times[len(times)*9/10] > 16 {
		t.Errorf("frames of moving took %.1f ms of the processor", times)
	}
	if changed := browser.Ask[[]string](b, `[...window.changes]`); !slices.Equal(changed, []string{"sheet"}) {
		t.Errorf("moving changes %q", changed)
	}
}

// A tile opens its container, and closes again.
func TestContainersAreTiles(t *testing.T) {
	l := newLarge(300)
	b := browser.Open(t, serve(t, l, &atomic.Bool{}).URL, 1440, nobody)
	b.SignIn("admin", "pw")
	b.Says("[data-tile=container007] [data-box=component075]", protocol.Running)
	if n := browser.Ask[int](b, `document.querySelectorAll('.tile').length`); n != 30 {
		t.Errorf("%d tiles", n)
	}
	l.turn("component075", protocol.Configured)
	b.Await(`document.querySelector('[data-box=component075]')?.dataset.tone === 'idle'`)
	b.Ask(`document.querySelector('[data-tile=container007]').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))`)
	b.Says("a.box.component[data-box=component075] .label", protocol.Configured)
	b.Says(".legend-of", "in trouble")
	b.ClickText(".legend-of summary", "Legend")
	b.Look("graph-tile-open")
	b.ClickText(".legend-of summary", "Legend")
	b.Ask(`document.querySelector('[data-box=container007] .close-tile').dispatchEvent(new MouseEvent('click', {bubbles: true}))`)
	b.Await(`!!document.querySelector('[data-tile=container007]')`)

	at := browser.Ask[string](b, `document.querySelector('.sheet').style.transform`)
	b.Ask(`document.querySelector('.canvas').dispatchEvent(new WheelEvent('wheel', {deltaY: -800, bubbles: true, cancelable: true, clientX: 300, clientY: 300}))`)
	b.Await(fmt.Sprintf(`document.querySelector('.sheet').style.transform !== %q`, at))
	b.Await(`!document.querySelector('.minimap').hasAttribute('hidden')`)
	b.Await(`!!document.querySelector('.beyond:not([hidden])')`)
	scale := browser.Ask[float64](b, `new DOMMatrix(document.querySelector('.sheet').style.transform).a`)
	b.Ask(`(() => {
		const box = document.querySelector('.canvas'), r = box.getBoundingClientRect();
		box.setPointerCapture = () => {};
		const send = (type, id, x) => box.dispatchEvent(new PointerEvent(type, {bubbles: true, pointerId: id, button: type === 'pointermove' ? -1 : 0, clientX: r.x + x, clientY: r.y + 100}));
		send('pointerdown', 1, 200); send('pointerdown', 2, 300); send('pointermove', 2, 250); send('pointerup', 1, 200); send('pointerup', 2, 250);
	})()`)
	b.Await(fmt.Sprintf(`new DOMMatrix(document.querySelector('.sheet').style.transform).a < %f * .6`, scale))
}
