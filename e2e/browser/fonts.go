package browser

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
)

// fontConfig makes Go's fonts the only ones of the browser. %s is their folder.
const fontConfig = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>%[1]s</dir>
  <cachedir>%[1]s/cache</cachedir>
  <alias binding="same"><family>monospace</family><prefer><family>Go Mono</family></prefer></alias>
  <alias binding="same"><family>ui-monospace</family><prefer><family>Go Mono</family></prefer></alias>
  <alias binding="same"><family>sans-serif</family><prefer><family>Go</family></prefer></alias>
  <alias binding="same"><family>system-ui</family><prefer><family>Go</family></prefer></alias>
</fontconfig>
`

// writeFonts writes Go's fonts into a folder, and returns the variable that makes a browser use
// only these: layouts that a test measures do not depend on the machine's fonts.
func writeFonts(folder string) (variable string, err error) {
	config := filepath.Join(folder, "fonts.conf")
	for path, data := range map[string][]byte{
		filepath.Join(folder, "Go-Regular.ttf"): goregular.TTF,
		filepath.Join(folder, "Go-Bold.ttf"):    gobold.TTF,
		filepath.Join(folder, "Go-Mono.ttf"):    gomono.TTF,
		config:                                  fmt.Appendf(nil, fontConfig, folder),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return "", err
		}
	}
	return "FONTCONFIG_FILE=" + config, nil
}
