package packager

import "testing"

func TestACommandSurvivesSupervisorsComments(t *testing.T) {
	t.Parallel()
	if got, want := command("/bin/sh", "/a b/100% ;x#.sh"), `/bin/sh /a\ b/100%%\ \;x\#.sh`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestJSONSurvivesSupervisorsComments(t *testing.T) {
	t.Parallel()
	got, err := jsonValue(map[string]string{"A": "50% ;b #c\n"})
	if want := `{"A":"50%% \u003bb \u0023c\n"}`; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestAPatternSurvivesSupervisorsComments(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"ready":       "ready",
		" 100% ;x #y": `(?:) 100%% \;x \#y(?:)`,
		"a;b#c":       "a;b#c",
	} {
		if got := pattern(given); got != want {
			t.Errorf("%q gives %q, want %q", given, got, want)
		}
	}
}
