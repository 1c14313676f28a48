package graph

// Width is how wide a text is believed to be.
func Width(text string, size float64) float64 { return width(text, size, false) }
