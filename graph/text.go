package graph

import (
	"strings"

	"github.com/toskose/toskose/internal/visible"
)

// widths are the widths of Helvetica's characters, starting at the space, in thousandths of the
// font size; Arial and Liberation Sans have the same widths.
var widths = [...]int{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
}

// width estimates the width of a text, plus one sixth: without Helvetica, the font may be a wider
// one, such as DejaVu Sans.
func width(text string, size float64, bold bool) float64 {
	sum := 0
	for _, r := range text {
		switch i := int(r) - ' '; {
		case i >= 0 && i < len(widths):
			sum += widths[i]
		case r < 0x1100:
			sum += 600
		default: // as wide as high, as in Chinese and Japanese
			sum += 1000
		}
	}
	w := float64(sum) / 1000 * size * 1.17
	if bold {
		w *= 1.07
	}
	return w
}

// markup escapes the characters that are special in XML.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// escape returns a text as XML character data.
func escape(s string) string { return markup.Replace(visible.Lines(s)) }
