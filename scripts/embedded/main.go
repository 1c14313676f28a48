// Command embedded adds the JavaScript embedded in the manager to a CycloneDX SBOM, which it reads
// from standard input and writes to standard output: the scripts are part of a Go module, so tools
// that read modules do not detect them.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/swaggest/swgui/v5/static"
)

// component is a CycloneDX component for an embedded script.
type component struct {
	Type       string `json:"type"`
	BOMRef     string `json:"bom-ref"`
	Name       string `json:"name"`
	Version    string `json:"version"`
	PackageURL string `json:"purl"`
	Scope      string `json:"scope"`
	Hashes     []hash `json:"hashes"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var bom map[string]json.RawMessage
	if err := json.NewDecoder(in).Decode(&bom); err != nil {
		return fmt.Errorf("cannot read the SBOM: %w", err)
	}
	var all []json.RawMessage
	if err := json.Unmarshal(bom["components"], &all); err != nil {
		return fmt.Errorf("cannot read the SBOM's components: %w", err)
	}
	ui, err := swaggerUI(static.FS)
	if err != nil {
		return err
	}
	text, err := json.Marshal(ui)
	if err != nil {
		return err
	}
	if bom["components"], err = json.Marshal(append(all, text)); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(bom)
}

var packageVersion = regexp.MustCompile(`PACKAGE_VERSION:"([0-9]+\.[0-9]+\.[0-9]+)"`)

// swaggerUI describes the bundle of Swagger UI, with the version found in the script.
func swaggerUI(files fs.FS) (component, error) {
	const name = "swagger-ui-bundle.js.gz"
	packed, err := fs.ReadFile(files, name)
	if err != nil {
		return component{}, fmt.Errorf("cannot read the embedded script: %w", err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return component{}, fmt.Errorf("cannot unpack %s: %w", name, err)
	}
	script, err := io.ReadAll(unpacked)
	if err != nil {
		return component{}, fmt.Errorf("cannot unpack %s: %w", name, err)
	}
	found := packageVersion.FindSubmatch(script)
	if found == nil {
		return component{}, errors.New(name + " does not contain its version")
	}
	version := string(found[1])
	purl := "pkg:npm/swagger-ui-dist@" + version
	sum := sha256.Sum256(script)
	return component{
		Type: "library", BOMRef: purl, Name: "swagger-ui-dist", Version: version, PackageURL: purl, Scope: "required",
		Hashes: []hash{{"SHA-256", strings.ToLower(hex.EncodeToString(sum[:]))}},
	}, nil
}
