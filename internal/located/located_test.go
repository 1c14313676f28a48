package located_test

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/internal/located"
)

// garden is a document.
type garden struct {
	Beds  []bed `yaml:"beds"`
	Water water `yaml:"water"`
	Note  note  `yaml:"note"`
}

type bed struct {
	Plant string `yaml:"plant"`
	Rows  int    `yaml:"rows"`
}

// water may also be a word.
type water struct {
	Litres int `yaml:"litres"`
	never  bool
}

func (w *water) SetWord(word string) bool {
	w.never = word == "never"
	return w.never
}

// note decodes itself.
type note struct{ keys int }

func (n *note) DecodeNode(d *located.Decoder, node *yaml.Node, path string) {
	d.Pairs(node, path, func(_, _ *yaml.Node) { n.keys++ })
}

func TestADocumentIsDecodedWithItsPositions(t *testing.T) {
	t.Parallel()
	var g garden
	d := located.Decode("garden.yaml", []byte("beds:\n  - {plant: peas, rows: 2}\nwater: never\nnote: {a: 1, b: 2}\n"), &g)
	if len(d.Problems) > 0 || g.Beds[0] != (bed{"peas", 2}) || !g.Water.never || g.Note.keys != 2 {
		t.Errorf("%v: %+v", d.Problems, g)
	}
	if at := d.At["beds.0.rows"]; at != (located.Position{Line: 2, Column: 25}) {
		t.Errorf("the rows are at %+v", at)
	}
}

func TestAllProblemsAreReportedInTheirOrder(t *testing.T) {
	t.Parallel()
	var g garden
	d := located.Decode("garden.yaml", []byte("wter: never\nbeds:\n  - {plant: [peas], rows: two}\n  - {rows: 1, rows: 2}\nwater: sometimes\nnote: 3\n"), &g)
	want := `garden.yaml:1:1: wter: unknown key; did you mean "water"?
garden.yaml:3:13: beds.0.plant: must be text, not a list
garden.yaml:3:27: beds.0.rows: must be a whole number, not text
garden.yaml:4:15: beds.1.rows: is set twice
garden.yaml:5:8: water: must be a mapping or none, not text
garden.yaml:6:7: note: must be a mapping, not the value 3`
	if got := d.Problems.Sorted().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !d.Bad["beds.0.rows"] || d.Bad["beds.1.rows"] {
		t.Errorf("bad values: %v", d.Bad)
	}
}

func TestWhatIsNotOneDocumentIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: 1\n---\nb: 2\n": "garden.yaml:2:1: holds more than one YAML document",
		"a:\n  b: {\n":      "is not valid YAML",
		"[]":                "garden.yaml:1:1: must be a mapping, not a list",
	} {
		d := located.Decode("garden.yaml", []byte(text), &garden{})
		if len(d.Problems) == 0 || !strings.Contains(d.Problems.Error(), want) {
			t.Errorf("%q: %v, want %q", text, d.Problems, want)
		}
	}
	if p := (located.Problem{File: "garden.yaml", Message: "is wet"}); p.Error() != "garden.yaml: is wet" {
		t.Errorf("without a position: %v", p)
	}
}
