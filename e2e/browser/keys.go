package browser

import (
	"strings"

	"github.com/chromedp/chromedp"
)

// Press presses keys: "\t" is the tabulator, "\r" Enter.
func (b *Window) Press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// focus describes the focused element.
type focus struct {
	Nth   int    // its number in the order of first focus; 0: no element has the focus
	What  string // "button Sign out"
	Wrong string // why it cannot be seen
}

// Focused presses Tab until the focus returns to the first element, and returns the focused
// elements in order. It fails if an element's focus is not visible or if the focus does not return
// to the first element.
func (b *Window) Focused(most int) (all []string) {
	b.t.Helper()
	b.Ask(`document.activeElement?.blur(), window.focused = undefined`)
	for range most {
		b.Press("\t")
		at := Ask[focus](b, focusScript)
		if at.Nth == 0 || at.Nth == 1 && len(all) > 0 {
			return all
		}
		if at.Nth <= len(all) {
			b.t.Errorf("the focus goes from %s back to %s", all[len(all)-1], at.What)
			return all
		}
		all = append(all, at.What)
		if at.Wrong != "" {
			b.t.Errorf("the focus of %s: %s", at.What, at.Wrong)
		}
	}
	b.t.Errorf("the focus does not come around: %q", all)
	return all
}

// TabTo presses Tab until the focused element's name starts with a text: "a Goal".
func (b *Window) TabTo(what string) {
	b.t.Helper()
	var all []string
	for range 100 {
		b.Press("\t")
		at := Ask[focus](b, focusScript)
		if all = append(all, at.What); strings.HasPrefix(at.What, what) {
			if at.Wrong != "" {
				b.t.Errorf("the focus of %s: %s", at.What, at.Wrong)
			}
			return
		}
	}
	b.t.Fatalf("the tabulator does not come to %q: %q", what, all)
}

const focusScript = `(() => {
	const e = document.activeElement;
	if (!e || e === document.body) return {nth: 0, what: ''};
	const known = window.focused ||= new Map();
	if (!known.has(e)) known.set(e, known.size + 1);
	const what = e.localName + ' ' + (e.getAttribute('aria-label') || e.name || e.textContent.trim()).slice(0, 60);
	const style = getComputedStyle(e), ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
	const shape = e.querySelector(':scope > .shape');
	const edge = shape && parseFloat(getComputedStyle(shape).strokeWidth) >= 2;
	const r = e.getBoundingClientRect(), seen = r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth;
	return {nth: known.get(e), what, wrong: !ring && !edge ? 'cannot be seen' : !seen ? 'is outside of the window' : ''};
})()`
