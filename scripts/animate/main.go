// Command animate makes a GIF of pictures: animate OUT.gif FRAME.png...
package main

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
)

// delay is the time that each picture is shown, in hundredths of a second; the last one stays longer.
const (
	delay = 35
	last  = 200
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "animate: needs OUT.gif and at least one FRAME.png")
		os.Exit(2)
	}
	if err := animate(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "animate:", err)
		os.Exit(1)
	}
}

func animate(out string, frames []string) error {
	pictures := make([]image.Image, len(frames))
	for i, name := range frames {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		pictures[i], err = png.Decode(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", name, err)
		}
	}
	colours := paletteOf(pictures)
	film := &gif.GIF{}
	var before *image.Paletted
	for i, picture := range pictures {
		now := image.NewPaletted(picture.Bounds(), colours)
		draw.Draw(now, now.Bounds(), picture, picture.Bounds().Min, draw.Src)
		shown := now
		if before != nil {
			area := changed(before, now)
			shown, _ = now.SubImage(area).(*image.Paletted)
		}
		wait := delay
		if i == len(pictures)-1 {
			wait = last
		}
		film.Image, film.Delay, before = append(film.Image, shown), append(film.Delay, wait), now
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil { //nolint:gosec // a picture for all
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	return gif.EncodeAll(f, film)
}

// paletteOf returns the 256 most frequent colours.
func paletteOf(pictures []image.Image) color.Palette {
	count := map[color.RGBA]int{}
	for _, p := range pictures {
		for y := p.Bounds().Min.Y; y < p.Bounds().Max.Y; y++ {
			for x := p.Bounds().Min.X; x < p.Bounds().Max.X; x++ {
				c, _ := color.RGBAModel.Convert(p.At(x, y)).(color.RGBA)
				count[color.RGBA{c.R &^ 3, c.G &^ 3, c.B &^ 3, 255}]++
			}
		}
	}
	var colours color.Palette
	for len(colours) < 256 && len(count) > 0 {
		var best color.RGBA
		for c, n := range count {
			if n > count[best] || n == count[best] && before(c, best) {
				best = c
			}
		}
		colours = append(colours, best)
		delete(count, best)
	}
	return colours
}

// before orders colours, so that the same pictures have the same palette.
func before(a, b color.RGBA) bool {
	return [3]uint8{a.R, a.G, a.B} != [3]uint8{b.R, b.G, b.B} && uint32(a.R)<<16|uint32(a.G)<<8|uint32(a.B) < uint32(b.R)<<16|uint32(b.G)<<8|uint32(b.B)
}

// changed returns the smallest rectangle that contains all differences; one point if there are none.
func changed(a, b *image.Paletted) image.Rectangle {
	area := image.Rectangle{}
	for y := a.Rect.Min.Y; y < a.Rect.Max.Y; y++ {
		for x := a.Rect.Min.X; x < a.Rect.Max.X; x++ {
			if a.ColorIndexAt(x, y) != b.ColorIndexAt(x, y) {
				area = area.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if area.Empty() {
		return image.Rect(a.Rect.Min.X, a.Rect.Min.Y, a.Rect.Min.X+1, a.Rect.Min.Y+1)
	}
	return area
}
