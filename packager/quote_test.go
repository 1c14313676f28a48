package packager

import "testing"

func TestACommandSurvivesSupervisorsComments(t *testing.T) {
	t.Parallel()
	if got, want := command("/bin/sh", "/a b/100% ;x#.sh"), `/bin/sh /a\ b/100%%\ \;x\#.sh`; got != want {
		t.Errorf("got %s, want %s", got, want)
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
