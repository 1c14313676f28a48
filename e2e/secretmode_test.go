package e2e

import (
	"strings"
	"testing"
)

// readAsAnother tries to read all secrets of a container as a user of no component, and
// prints for each whether that was refused.
const readAsAnother = `
import os
folder = "/run/secrets"
names = sorted(n for n in os.listdir(folder) if not n.startswith("."))
whole = [n for n in names if os.path.getsize(os.path.join(folder, n)) > 0]
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
for name in whole:
    try:
        open(os.path.join(folder, name)).read()
        print("READ", name)
    except PermissionError:
        print("refused", name)
`

// anotherUserReadsNoSecret runs a script of Python as root in the container of a unit.
func anotherUserReadsNoSecret(t *testing.T, run func(words ...string) string, names ...string) {
	t.Helper()
	said := run("python3", "-c", readAsAnother)
	for _, name := range names {
		if !strings.Contains(said, "refused "+name+"\n") {
			t.Errorf("another user is not refused %s:\n%s", name, said)
		}
	}
	if strings.Contains(said, "READ") {
		t.Errorf("another user reads secrets:\n%s", said)
	}
}

func othersReadNoSecret(t *testing.T, app *application) {
	anotherUserReadsNoSecret(t, func(words ...string) string {
		return inContainer(t, app.engine, app.container(t, "backend"), words...)
	}, "backend-password")
}
