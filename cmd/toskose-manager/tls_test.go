package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHowUnitsAreSpokenToIsNeverGuessed(t *testing.T) {
	t.Parallel()
	if config, err := readTLS(get(nil)); config != nil || err != nil {
		t.Errorf("without an authority it is in the clear: %v, %v", config, err)
	}
	nothing := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(nothing, []byte("no certificate\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, says := range map[string]string{"/nowhere/ca.crt": "cannot read the authority of the units' certificates", nothing: "holds no certificate"} {
		if config, err := readTLS(get(map[string]string{"TOSKOSE_TLS_CA": file})); config != nil || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v", file, config, err)
		}
	}
	args, env := image(t)
	env["TOSKOSE_TLS_CA"] = "/nowhere/ca.crt"
	var out, errOut output
	if code := run(t.Context(), args, get(env), &out, &errOut); code != 1 || !strings.Contains(errOut.String(), "TOSKOSE_TLS_CA") {
		t.Errorf("%d: %s", code, errOut.String())
	}
}
