package spec_test

import (
	"testing"

	"github.com/toskose/toskose/spec"
)

func TestAShareHasAnAbsolutePathAndAMode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]spec.Share{
		"/srv/data": {Host: "/srv/data"}, "/srv/data:rw": {Host: "/srv/data"}, "/srv/data:ro": {Host: "/srv/data", ReadOnly: true},
		"/srv/a b:z": {Host: "/srv/a b", Relabel: "z"}, "/:ro,Z": {Host: "/", ReadOnly: true, Relabel: "Z"}, "/srv/a:b/c": {Host: "/srv/a:b/c"},
	} {
		if got, err := spec.ParseShare(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"./data":       `"./data" is not an absolute path: no folder of the host is known that it could be relative to; write an absolute path, or use a volume`,
		"data:ro":      `"data" is not an absolute path: no folder of the host is known that it could be relative to; write an absolute path, or use a volume`,
		"/srv:r0":      `"r0" is not a mode of a mount: ro, rw, z or Z, separated by commas`,
		"/srv:":        `"" is not a mode of a mount: ro, rw, z or Z, separated by commas`,
		"/srv/a:b/c:z": `"/srv/a:b/c" contains a colon, so it cannot have the mode z`,
	} {
		if got, err := spec.ParseShare(text); err == nil || err.Error() != want {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
}
