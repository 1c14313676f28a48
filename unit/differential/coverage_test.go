package differential

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// faults are those that the corpus has to meet: all that a client can bring
// about. SUCCESS is no fault, and UNKNOWN_METHOD is of no method that there is.
var faults = map[string]string{
	"2": "INCORRECT_PARAMETERS", "3": "BAD_ARGUMENTS", "4": "SIGNATURE_UNSUPPORTED", "6": "SHUTDOWN_STATE",
	"10": "BAD_NAME", "11": "BAD_SIGNAL", "20": "NO_FILE", "21": "NOT_EXECUTABLE", "40": "ABNORMAL_TERMINATION",
	"50": "SPAWN_ERROR", "60": "ALREADY_STARTED", "70": "NOT_RUNNING", "90": "ALREADY_ADDED", "91": "STILL_RUNNING",
	"92": "CANT_REREAD",
}

// answered stands among the faults for an answer that is none.
const answered = "answer"

// checkCoverage fails where supervisord has a method that the corpus does not
// call, or only in vain, or a fault that no call meets; it logs which methods
// met which faults.
func checkCoverage(t *testing.T, corpus []scenario, all []*played) {
	t.Helper()
	met := map[string]map[string]bool{} // method: codes of faults, and answered
	var methods []string
	for i, s := range corpus {
		for n, one := range s.steps {
			if !slices.Contains([]string{"call", "shape", "unordered"}, one.verb) || n >= len(all[i].supervisord) {
				continue
			}
			method, _, _ := strings.Cut(one.rest, " ")
			said := all[i].supervisord[n]
			if method == "system.listMethods" && len(said) > 1 {
				methods = said
			}
			if met[method] == nil {
				met[method] = map[string]bool{}
			}
			code := answered
			if fault, ok := strings.CutPrefix(said[0], "fault "); ok {
				code, _, _ = strings.Cut(fault, " ")
			}
			met[method][code] = true
		}
	}
	missing := maps.Clone(faults)
	for _, line := range methods {
		method := strings.Trim(line[strings.LastIndexByte(line, ' ')+1:], `"`)
		codes := met[method]
		if !codes[answered] {
			t.Errorf("%s: no step of the corpus calls it with success", method)
		}
		t.Logf("%-36s %s", method, strings.Join(slices.Sorted(maps.Keys(codes)), " "))
		for code := range codes {
			delete(missing, code)
		}
	}
	for code, name := range missing {
		t.Errorf("fault %s %s: no step of the corpus meets it", code, name)
	}
}
