package levels_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/operator/levels"
)

func TestAStructureIsReadAndWrittenInTheSameForm(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "asset", "assemblyline,asset", "factory:factories,work-cell", "l1,l2,l3,l4,l5,l6,l7,l8,l9,l10"} {
		s, err := levels.Parse(text, levels.LevelGroup)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if s.String() != text {
			t.Errorf("%q is written as %q", text, s.String())
		}
	}
}

func TestEveryKindHasItsNeighbors(t *testing.T) {
	t.Parallel()
	s, err := levels.Parse("factory:factories,asset", "plant.example")
	if err != nil {
		t.Fatal(err)
	}
	factory := levels.Kind{Group: "plant.example", Kind: "Factory", Singular: "factory", Plural: "factories"}
	asset := levels.Kind{Group: "plant.example", Kind: "Asset", Singular: "asset", Plural: "assets"}
	for name, want := range map[string]levels.Place{
		"factory":     {Own: factory, Lower: &asset},
		"asset":       {Own: asset, Upper: &factory, Lower: &levels.Application},
		"application": {Own: levels.Application, Upper: &asset, Lower: &levels.Component},
		"component":   {Own: levels.Component, Upper: &levels.Application},
	} {
		got, ok := s.Find(name)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, ok := s.Find("robot"); ok {
		t.Error("a kind that is not in the structure was found")
	}
}

func TestAllProblemsOfAStructureAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("l", 64)
	tests := map[string]struct {
		levels, group string
		want          []string
	}{
		"kinds that exist": {"node,application,system,deploy", levels.LevelGroup, []string{
			`level "node": "node" is a name that Kubernetes has already`,
			`level "node": "nodes" is a name that Kubernetes has already`,
			`level "application": "application" is a name that Toskose has already`,
			`level "application": "applications" is a name that Toskose has already`,
			`level "system": "system" is a name that Toskose has already`,
			`level "deploy": "deploy" is a name that Kubernetes has already`,
		}},
		"duplicates": {"asset,asset,robot:assets", levels.LevelGroup, []string{
			`level "asset": "asset" is a name of level "asset" already`,
			`level "asset": "assets" is a name of level "asset" already`,
			`level "robot": "assets" is a name of level "asset" already`,
		}},
		"names that Kubernetes refuses": {"Line,1st,,work_cell,cell-," + long, levels.LevelGroup, []string{
			`level "Line": "Line" is not a name for a kind: small letters, digits and '-', with a letter first`,
			`level "Line": "Lines" is not a name for a kind: small letters, digits and '-', with a letter first`,
			`level "1st": "1st" is not a name for a kind: small letters, digits and '-', with a letter first`,
			`level "1st": "1sts" is not a name for a kind: small letters, digits and '-', with a letter first`,
			`level "": "" is not a name for a kind: small letters, digits and '-', with a letter first`,
			`level "work_cell": "work_cell" is not a name for a kind: small letters, digits and '-', with a letter first`,
			`level "work_cell": "work_cells" is not a name for a kind: small letters, digits and '-', with a letter first`,
			`level "cell-": "cell-" is not a name for a kind: small letters, digits and '-', with a letter first`,
			`level "` + long + `": "` + long + `" has more than 63 characters`,
			`level "` + long + `": "` + long + `s" has more than 63 characters`,
		}},
		"fields of levels and equal plurals": {"call:name,sheep:sheep", levels.LevelGroup, []string{
			`level "call": "name" is a field of every level, so it cannot be a plural`,
			`level "sheep": its plural must differ from its name`,
		}},
		"too many": {"l1,l2,l3,l4,l5,l6,l7,l8,l9,l10,l11", levels.LevelGroup, []string{"11 levels are more than 10"}},
		"groups":   {"", "apps.k8s.io", []string{`group "apps.k8s.io" is reserved for Kubernetes`}},
		"no group": {"asset,asset", "plant", []string{
			`group "plant" is not a DNS name with at least one dot`,
			`level "asset": "asset" is a name of level "asset" already`,
			`level "asset": "assets" is a name of level "asset" already`,
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := levels.Parse(test.levels, test.group)
			if err == nil {
				t.Fatal("not refused")
			}
			if diff := cmp.Diff(test.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAChildIsNamedAfterItsOwnerAndItsEntry(t *testing.T) {
	t.Parallel()
	tests := []struct{ own, entry, want string }{
		{"line-1", "robot-1", "line-1-robot-1"},
		{"line-1-robot-1", "acquisition", "line-1-robot-1-acquisition"},
		{strings.Repeat("a", 26), strings.Repeat("b", 25), strings.Repeat("a", 26) + "-" + strings.Repeat("b", 25)},
		{strings.Repeat("a", 26), strings.Repeat("b", 26), strings.Repeat("a", 26) + "-" + strings.Repeat("b", 16) + "-87eae7dc"},
		{strings.Repeat("a", 52), strings.Repeat("b", 52), strings.Repeat("a", 43) + "-35b5ba2e"},
	}
	for _, test := range tests {
		if got := levels.ChildName(test.own, test.entry); got != test.want || len(got) > 52 {
			t.Errorf("ChildName(%q, %q) is %q of %d characters, want %q", test.own, test.entry, got, len(got), test.want)
		}
	}
}
