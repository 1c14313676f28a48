package report

import (
	"io"
	"net/url"
	"path"
	"slices"

	"github.com/toskose/toskose/tosca/diag"
)

// The used parts of SARIF 2.1.0 (OASIS).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Info    string      `json:"informationUri"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string     `json:"id"`
		Short *sarifText `json:"shortDescription,omitempty"`
		Help  string     `json:"helpUri"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"name"`
	}
)

// The home page of the program, and the page of its codes.
const (
	home      = "https://github.com/toskose/toskose"
	codesPage = home + "/blob/main/docs/diagnostics.md"
)

// SARIF writes the list as a SARIF 2.1.0 log, with its codes as rules.
func SARIF(w io.Writer, list diag.List, opts Options) error {
	codes := map[string]bool{}
	for _, d := range list {
		codes[d.Code] = true
	}
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "toskose", Version: opts.Version, Info: home, Rules: []sarifRule{}}},
		ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
	}
	sorted := make([]string, 0, len(codes))
	for code := range codes {
		sorted = append(sorted, code)
	}
	slices.Sort(sorted)
	for _, code := range sorted {
		rule := sarifRule{ID: code, Help: codesPage + "#" + code}
		if opts.Title != nil && opts.Title(code) != "" {
			rule.Short = &sarifText{opts.Title(code)}
		}
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
	}
	for _, d := range list {
		index, _ := slices.BinarySearch(sorted, d.Code)
		message := d.Message
		if d.Suggestion != "" {
			message += " (did you mean \"" + d.Suggestion + "\"?)"
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: d.Code, RuleIndex: index, Level: d.Severity.String(),
			Message: sarifText{message}, Locations: locations(d.Position, opts),
		})
	}
	return write(w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
}

// locations returns a position for SARIF: a physical location in a file, or else a
// logical location.
func locations(at diag.Position, opts Options) []sarifLocation {
	if at.File == "" {
		return nil
	}
	name, ok := at.File, true
	if opts.Locate != nil {
		name, ok = opts.Locate(at.File)
	}
	if !ok {
		return []sarifLocation{{Logical: []sarifLogical{{Name: at.File}}}}
	}
	place := &sarifPhysical{Artifact: sarifArtifact{URI: uri(name)}}
	if at.Line > 0 {
		place.Region = &sarifRegion{StartLine: at.Line, StartColumn: at.Column}
	}
	return []sarifLocation{{Physical: place}}
}

// uri returns a clean path as a URI: relative, or a file URI (SARIF 2.1.0, 3.10.2).
func uri(at string) string {
	u := url.URL{Path: path.Clean(at)}
	if path.IsAbs(at) {
		u.Scheme = "file"
	}
	return u.String()
}
